"""The server of the page of `zabcheck play`: one desk for one person, on this machine only.

It listens on 127.0.0.1. An answer that says anything of the run needs the token of the address that was printed; the
host that is asked for, and the origin of the page that asks, have to be the server's own, so that no other page and no
other name that leads here gets one. The page and its script are the same for everybody. No file is read besides these,
and none is written.

Everything that touches the session runs in one thread, one act after the other. A tab asks for what is new and waits
for it, so that two tabs show the same.
"""

import asyncio
import hmac
import secrets
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from zabcheck.play.desk import ActRefused, Desk
from zabcheck.play.document import document, resource
from zabcheck.play.reading import Reading
from zabcheck.play.regions import regions

HOST = "127.0.0.1"
PATIENCE = 20.0
"""The seconds for which a tab waits for something new before it asks again."""
EVERY = 0.05
"""The seconds between two looks for something new, or for the end, on behalf of a tab that waits."""
MOST_BYTES = 256 * 1024
"""The longest act that is read, in bytes."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
TOKEN = "x-zabcheck-token"

T = TypeVar("T")


class _OwnHost:
    """Refuses what another host name, or a page of another origin, asks for."""

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...]) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = Request(scope)
            host, origin = request.headers.get("host"), request.headers.get("origin")
            if host not in self.hosts or origin not in (None, f"http://{host}"):
                await PlainTextResponse("expected a page of this server\n", 403)(scope, receive, send)
                return
        await self.app(scope, receive, send)


class _Ends(Exception):
    """The server ends before an act is done."""


class Server:
    """A server of `desk`, which has its port from the beginning. `address` opens the page."""

    def __init__(self, desk: Desk | Reading, port: int = 0) -> None:
        """Take a port; 0: one that is free. OSError if it is not."""
        self.desk = desk
        self._token = secrets.token_urlsafe(16)
        self._socket = socket.create_server((HOST, port))
        self.port: int = self._socket.getsockname()[1]
        self._thread = ThreadPoolExecutor(1, "zabcheck play")
        hosts = (f"{HOST}:{self.port}", f"localhost:{self.port}")
        routes = [
            Route("/", self._page),
            Route("/play.js", self._script),
            Route("/play.css", self._style),
            Route("/state", self._state),
            Route("/act", self._act, methods=["POST"]),
            Route("/take/{name}", self._take),
        ]
        middleware = [Middleware(_OwnHost, hosts=hosts)]
        self.app = Starlette(routes=routes, middleware=middleware, exception_handlers={_Ends: _ends})
        config = uvicorn.Config(
            self.app,
            log_level="error",
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=1,
            server_header=False,
        )
        self._server = uvicorn.Server(config)

    @property
    def address(self) -> str:
        """The address of the page, with the token in its fragment, which is sent to nobody."""
        return f"http://{HOST}:{self.port}/#token={self._token}"

    def serve(self) -> None:
        """Answer until `end` is called, or Ctrl-C comes. In the main thread KeyboardInterrupt follows that."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()
            if isinstance(self.desk, Desk):
                self.desk.end()
            self._thread.shutdown(wait=True)

    def end(self) -> None:
        """Have `serve` return soon. May be called from another thread."""
        self._server.should_exit = True

    # The same for everybody.

    async def _page(self, request: Request) -> Response:
        is_read = isinstance(self.desk, Reading)
        return Response(document(read_only=is_read), headers=HEADERS, media_type="text/html")

    async def _script(self, request: Request) -> Response:
        return Response(resource("play.js"), headers=HEADERS, media_type="text/javascript")

    async def _style(self, request: Request) -> Response:
        return Response(resource("play.css"), headers=HEADERS, media_type="text/css")

    # What needs the token.

    def _is_allowed(self, request: Request) -> bool:
        return hmac.compare_digest(request.headers.get(TOKEN, "").encode(), self._token.encode())

    async def _in_turn(self, function: Callable[[], T]) -> T:
        """Return what `function` returns, in its turn. _Ends if the server ends before that."""
        future = asyncio.get_running_loop().run_in_executor(self._thread, function)
        future.add_done_callback(lambda done: done.exception())  # nobody asks for it any more if the server ends
        while not future.done():
            await asyncio.wait([future], timeout=EVERY)
            if self._server.should_exit and not future.done():
                raise _Ends
        return future.result()

    async def _state(self, request: Request) -> Response:
        """Answer with what the page shows, once its version is another than the one that is `known`."""
        if not self._is_allowed(request):
            return _refused("the address that zabcheck play printed opens the page", 403)
        known = request.query_params.get("known", "")
        for _ in range(int(PATIENCE / EVERY)):
            if str(self.desk.version) != known:
                return await self._shown()
            if self._server.should_exit:
                break
            await asyncio.sleep(EVERY)
        return Response(status_code=204, headers=HEADERS)

    async def _act(self, request: Request) -> Response:
        if not self._is_allowed(request):
            return _refused("the address that zabcheck play printed opens the page", 403)
        data = b""
        async for part in request.stream():
            data += part
            if len(data) > MOST_BYTES:
                return _refused(f"expected at most {MOST_BYTES:,} bytes", 413)
        try:
            await self._in_turn(lambda: self.desk.act(data))
        except ActRefused as refused:
            return _refused(str(refused), 409)
        return await self._shown()

    async def _shown(self) -> Response:
        desk = self.desk

        def show() -> dict[str, object]:
            shown = desk.regions() if isinstance(desk, Reading) else regions(desk)
            return {"version": desk.version, "regions": shown}

        shown = await self._in_turn(show)
        return Response(msgspec.json.encode(shown), headers=HEADERS, media_type="application/json")

    async def _take(self, request: Request) -> Response:
        if not self._is_allowed(request):
            return _refused("the address that zabcheck play printed opens the page", 403)
        name = request.path_params["name"]
        try:
            content = await self._in_turn(lambda: self.desk.file(name))
        except ActRefused as refused:
            return _refused(str(refused), 404)
        return Response(content, headers=HEADERS, media_type="application/octet-stream")


async def _ends(request: Request, error: Exception) -> Response:
    return _refused("the server ends", 503)


def _refused(why: str, code: int) -> Response:
    return Response(msgspec.json.encode({"said": why}), code, headers=HEADERS, media_type="application/json")

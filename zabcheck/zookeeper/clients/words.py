"""The records of a history in words, for witnesses."""

from zabcheck.zookeeper.clients.history import (
    NOBODY,
    Answer,
    ClientMessage,
    Connect,
    Connected,
    Data,
    HistoryLine,
    InitialNode,
    Lost,
    Part,
    Record,
    Request,
    Result,
    Stat,
    WatchEvent,
    content_of,
)
from zabcheck.zookeeper.wire.zxids import shown

_LONGEST = 40
"""Characters of data that are shown."""


def words(record: HistoryLine | Record) -> str:
    """Return a record as text, without the name of its client."""
    match record:
        case Connect():
            seen = f", has seen {shown(record.seen)}" if record.seen else ""
            session = "no session" if record.session == NOBODY else f"session {record.session}"
            return f"connects with {session}{seen}" + (f", to {record.server}" if record.server else "")
        case Connected():
            return "its session has expired" if record.session == NOBODY else f"is given session {record.session}"
        case Request():
            return f"sends {record.xid}: {_request(record)}"
        case Answer():
            return f"gets answer {record.xid}: {_answer(record)}"
        case WatchEvent():
            return f"hears {record.type} of {record.path}" + (f" at {shown(record.zxid)}" if record.zxid > 0 else "")
        case Lost():
            return "loses the connection"
        case InitialNode():
            return f"{record.path} is there at first, {_stat(record.stat)}"
        case ClientMessage():
            told = f"client {record.from_} tells client {record.to} something"
            return f"{told}, after answer {record.after} and before request {record.before}"
        case _:
            raise AssertionError(f"{record} is of no client")


def brief(request: Request, answer: Answer | None) -> str:
    """Return a request and its outcome in a few words."""
    paths = [part.path for part in request.parts] if request.path is None else [request.path]
    said = " ".join([f"{request.xid} {request.op}", ", ".join(dict.fromkeys(paths))]).rstrip()
    if request.version >= 0:
        said += f" if version {request.version}"
    if request.watch == "standard":
        said += ", watch"
    if answer is None:
        return f"{said}: no answer"
    error = answer.error or next((result.error for result in answer.results if result.error), "")
    if error or answer.data is not None:
        return f"{said}: {error or named(answer.data or '')}"
    if answer.path not in (None, request.path):
        return f"{said}: {answer.path}"
    return f"{said}: version {answer.stat.version}" if request.op == "setData" and answer.stat is not None else said


def _request(request: Request) -> str:
    parts = f" of {len(request.parts)} parts" if request.parts else ""
    if request.op == "txn":
        parts = ": " + ", ".join(f"{each.op} {each.path}{_value(each)}" for each in request.parts)
    path = f" {request.path}" if request.path is not None else ""
    more: list[str] = [*request.mode]
    if request.expects is not None:
        more.append(f"expects {named(request.expects)}")
    if request.data is not None:
        more.append(f"data {of_data(request.data)}")
    if request.version >= 0:
        more.append(f"expects version {request.version}")
    if request.watch:
        more.append(f"watch {request.watch}")
    return f"{request.op}{path}{parts}" + "".join(f", {each}" for each in more)


def _answer(answer: Answer) -> str:
    zxid = f", as of {shown(answer.zxid)}" if answer.zxid > 0 else ""
    results = ", ".join(result.error or f"done{_list(result)}" for result in answer.results)
    made = f" {answer.path}" if answer.path is not None else ""
    stat = f", {_stat(answer.stat)}" if answer.stat is not None else ""
    data = f", data {of_data(answer.data)}" if answer.data is not None else ""
    return f"{answer.error or 'done'}{made}{zxid}{stat}{data}" + (f" ({results})" if results else "")


def _value(part: Part) -> str:
    return f" {named(part.data)}" if part.data is not None else ""


def _list(result: Result) -> str:
    if result.children is None:
        return ""
    text = f" [{', '.join(result.children)}]"
    return text if len(text) <= _LONGEST else f" with a list of {len(result.children)}"


def named(data: str | Data) -> str:
    """Return short text in quotes, and of other data "data of" and its length."""
    return of_data(data) if _is_shown(data) else f"data {of_data(data)}"


def of_data(data: str | Data) -> str:
    """Return short text in quotes, and of other data the length and the digest."""
    if isinstance(data, str):
        return f"`{data}`" if _is_shown(data) else f"of {len(data)} characters"
    content = content_of(data)
    assert content is not None
    return f"of {content.length} bytes, {content.digest}"


def _is_shown(data: str | Data) -> bool:
    return isinstance(data, str) and len(data) <= _LONGEST


def _stat(stat: Stat) -> str:
    return f"mzxid {shown(stat.mzxid)}, pzxid {shown(stat.pzxid)}, version {stat.version}"

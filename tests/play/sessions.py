"""Sessions for tests, and a server of one."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

from zabcheck.mutants.catalogue import mutated
from zabcheck.play.desk import Desk
from zabcheck.play.reading import Reading
from zabcheck.play.server import Server
from zabcheck.play.session import Session
from zabcheck.simulation import choices

LED = (choices.Lead(1, (2, 3)), choices.Settle(9), choices.Request(1))


def led(mutant: str | None = "commit-on-own-ack", processes: int = 3) -> Session:
    """A leader that is established and has broadcast once; nobody has synced that."""
    session = Session(mutated("zab", mutant), processes)
    assert session.follow(LED) == 0
    return session


@contextmanager
def served(shown: Session | Desk | Reading) -> Iterator[Server]:
    """A server of this session, desk or reading, in a thread of its own."""
    server = Server(Desk(shown) if isinstance(shown, Session) else shown)
    thread = Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.end()
        thread.join(300)
        assert not thread.is_alive()

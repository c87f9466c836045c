"""A client of simulated servers whose connection ends and begins again within one answer of the simulation."""

from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path

from zabcheck.zookeeper.recording.records import Acknowledged, AnyRecord, Asked, Session
from zabcheck.zookeeper.run.schedule import EnsembleSchedule
from zabcheck.zookeeper.simulated.ensemble import SimulatedEnsemble
from zabcheck.zookeeper.simulated.simulator import (
    Answer,
    AnswerCame,
    AnyEvent,
    ClientConnected,
    ClientDisconnected,
    CommandDone,
)


class Script:
    """Stands for a simulator: the next `run` and the next `send` have these events."""

    alive = True

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.events: dict[str, list[AnyEvent]] = {}
        self.open: list[int] = []

    def ask(self, words: Sequence[object], _: object = None) -> Answer:
        self.asked.append(tuple(map(str, words)))
        return Answer(self.events.pop(str(words[0]), []), CommandDone(0, open=self.open))


def answer(xid: int, zxid: int) -> AnswerCame:
    message = xid.to_bytes(4, "big") + zxid.to_bytes(8, "big") + bytes(4)
    return AnswerCame(3, 1, b64encode(message).decode())


def test_a_write_is_sent_on_the_connection_that_is_open_now(tmp_path: Path) -> None:
    """Sent as the connection before was noted, it would count as lost with it, and its answer be nobody's."""
    records: list[AnyRecord] = []
    script = Script()
    schedule = EnsembleSchedule(1, "zookeeper", 3, ())
    ensemble = SimulatedEnsemble(script, schedule, tmp_path, records.append, ("begin",), 0)  # type: ignore[arg-type]
    client = ensemble.client(1, 2.0)
    client.write(1)
    assert "send" not in [words[0] for words in script.asked]
    script.open = [1]
    script.events["run"] = [ClientConnected(1, 1, 7), ClientDisconnected(2, 1), ClientConnected(2, 1, 7)]
    script.events["send"] = [answer(1, 5)]
    ensemble.pass_time()
    assert [words[:2] for words in script.asked].count(("send", "1")) == 1
    assert [type(record) for record in records] == [Asked, Session, Acknowledged]

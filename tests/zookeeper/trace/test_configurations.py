"""Signs, in packets, of reconfigurations that decide too little."""

from zabcheck.zookeeper.recording.records import AnyRecord, LoggedTxn, Passed, Sent, Started
from zabcheck.zookeeper.trace.configurations import RECONFIG, notes_on_configurations

CONFIG = "config"
"""Stands for PROPOSAL of a configuration."""


def told(*packets: str) -> list[str]:
    """Return the notes on packets such as "1>2 NEWLEADER 2:0"; one that ends with "lost" does not arrive."""
    records: list[AnyRecord] = []
    for number, words in enumerate(packets):
        if words.startswith("start"):
            records.append(Started(0, int(words.removeprefix("start ")), 1))
            continue
        link, kind, zxid, *lost = words.split()
        sender, receiver = map(int, link.split(">"))
        epoch, counter = map(int, zxid.split(":"))
        at = epoch << 32 | counter
        txn = LoggedTxn(at, 1, 1, RECONFIG) if kind == CONFIG else None
        records.append(Sent(0, number, 0, sender, receiver, "PROPOSAL" if txn else kind, at, txn=txn))
        records += [] if lost else [Passed(0, number)]
    return [note.words() for note in notes_on_configurations(records)]


def test_a_configuration_that_comes_before_the_last_one_is_active() -> None:
    skipped = ["server 2: the configuration ⟨1,6⟩ is proposed to it, and it has not been told to activate ⟨1,4⟩"]
    assert told("1>2 config 1:4", "1>2 NEWLEADER 1:0", "1>2 config 1:6") == skipped
    assert told("1>2 config 1:4", "1>2 NEWLEADER 1:0", "1>2 config 1:6 lost") == []
    for between in ("COMMITANDACTIVATE 1:4", "UPTODATE 0:0", "TRUNC 1:3"):
        assert told("1>2 config 1:4", f"1>2 {between}", "1>2 config 1:6") == []


def test_an_epoch_that_one_server_takes_and_another_one_leads() -> None:
    taken = ["server 2: it has taken epoch 2 and never led in it, and server 5 leads in epoch 2"]
    led = "2>3 NEWLEADER 2:0", "5>4 NEWLEADER 2:0", "5>4 UPTODATE 0:0"
    assert told("1>2 config 1:4", *led) == taken
    assert told(*led) == [], "without a reconfiguration"
    assert told("1>2 config 1:4", *led, "2>3 UPTODATE 0:0") == []


def test_an_observer_that_counts_and_has_logged_nothing() -> None:
    synchronised = "1>4 OBSERVERINFO 1:0", "1>2 config 1:5", "1>4 PROPOSAL 1:5", "1>4 NEWLEADER 2:0", "4>1 ACK 2:0"
    counted = ["server 4: it acknowledged NEWLEADER as an observer that was sent ⟨1,5⟩, and goes on from ⟨1,4⟩"]
    for later in ("4>3 ACKEPOCH", "4>3 DIFF", "4>3 SNAP"):
        assert told(*synchronised, f"{later} 1:4") == counted
        assert told(*synchronised, f"{later} 1:5") == []
        assert told(*synchronised, "start 4", f"{later} 1:4") == [], "it may have lost it by a crash"
        assert told(*synchronised[:-1], f"{later} 1:4") == [], "it has not acknowledged"
    assert told(synchronised[0].replace("OBSERVER", "FOLLOWER"), *synchronised[1:], "4>3 DIFF 1:4") == []

"""Judges recordings of real ensembles by the rules for packets, and by a comparison with the model.

`python -m benchmarks.rules FOLDER...` judges each recording by both, as it is; a FOLDER may have several in it. Then it
changes one packet of those that are runs of the model, at random, and judges that by both: a rule that is kept before
and broken after says that the change was seen, and the comparison should say so, too. It is not among the benchmarks
that `python -m benchmarks` runs, because it needs recordings (`zabcheck zookeeper --keep DIR`). A change takes some
0.07 CPU seconds.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from zabcheck.cli.commands import BadInput
from zabcheck.cli.zookeeper.recordings import recordings_in
from zabcheck.zookeeper.conformance.conform import conform
from zabcheck.zookeeper.recording.folder import RECORDING, RecordingError, read
from zabcheck.zookeeper.recording.records import AnyRecord, Lost, Opened, Passed, Sent, Timed
from zabcheck.zookeeper.rules.packets import JUDGED, judge
from zabcheck.zookeeper.wire.zxids import COUNTER

TOO_EARLY = 30_000
"""A packet that is sent too early is sent this many microseconds before what it answers: a comparison allows 20,000."""
MOST_STATES = 5_000
"""A comparison gives up a server after this many states: most end after hundreds."""
_SYNCS = ("DIFF", "TRUNC", "SNAP")

Records = list[AnyRecord]
Change = Callable[[Records, int, Random], Records | None]
"""Returns records of which those of the packet at this place are changed; None if that packet cannot be changed so."""


class Said(NamedTuple):
    """The judgement on one recording: the rules that it breaks, and the verdict of the comparison."""

    rules: tuple[str, ...]
    verdict: str


def _of(record: AnyRecord, packet: int) -> bool:
    return isinstance(record, (Sent, Passed, Lost)) and record.packet == packet


def _sent(records: Records, place: int) -> Sent:
    packet = records[place]
    assert isinstance(packet, Sent)
    return packet


def _with(records: Records, place: int, packet: Sent) -> Records:
    return [*records[:place], packet, *records[place + 1 :]]


def _with_zxid(records: Records, place: int, zxid: int) -> Records | None:
    packet = _sent(records, place)
    if zxid < 0 or zxid == packet.zxid:
        return None
    return _with(
        records, place, replace(packet, zxid=zxid, txn=None if packet.txn is None else replace(packet.txn, zxid=zxid))
    )


def left_out(records: Records, place: int, rng: Random) -> Records | None:
    """Leave the packet out."""
    packet = _sent(records, place).packet
    return [each for each in records if not _of(each, packet)]


def sent_twice(records: Records, place: int, rng: Random) -> Records | None:
    """Have the packet sent, and passed on, a second time right after."""
    packet = _sent(records, place).packet
    number = 1 + max(each.packet for each in records if isinstance(each, Sent))
    changed: Records = []
    for each in records:
        changed.append(each)
        if isinstance(each, (Sent, Passed, Lost)) and each.packet == packet:
            changed.append(replace(each, packet=number))
    return changed


def exchanged(records: Records, place: int, rng: Random) -> Records | None:
    """Exchange it with the next one on its connection in the same direction."""
    one = _sent(records, place)
    for at, other in enumerate(records[place + 1 :], place + 1):
        same = isinstance(other, Sent) and (other.connection, other.sender) == (one.connection, one.sender)
        if same and isinstance(other, Sent) and other.kind in JUDGED:
            first = _with(records, place, replace(other, time=one.time, packet=one.packet))
            return _with(first, at, replace(one, time=other.time, packet=other.packet))
    return None


def of_another_epoch(records: Records, place: int, rng: Random) -> Records | None:
    """Change the epoch of its zxid."""
    return _with_zxid(records, place, _sent(records, place).zxid + rng.choice((-1, 1, 2)) * (COUNTER + 1))


def of_another_counter(records: Records, place: int, rng: Random) -> Records | None:
    """Change the counter of its zxid."""
    zxid = _sent(records, place).zxid
    by = rng.choice((-2, -1, 1, 2))
    return None if (zxid & COUNTER) + by < 0 else _with_zxid(records, place, zxid + by)


def of_another_zxid(records: Records, place: int, rng: Random) -> Records | None:
    """Give it the zxid of another packet, if it names the end of a history."""
    if _sent(records, place).kind not in ("ACKEPOCH", "DIFF", "TRUNC"):
        return None
    zxids = [each.zxid for each in records if isinstance(each, Sent) and each.kind in JUDGED]
    return _with_zxid(records, place, rng.choice(zxids))


def of_another_kind(records: Records, place: int, rng: Random) -> Records | None:
    """Make another kind of synchronisation of it, if it begins one."""
    packet = _sent(records, place)
    if packet.kind not in _SYNCS:
        return None
    return _with(records, place, replace(packet, kind=rng.choice([each for each in _SYNCS if each != packet.kind])))


def with_another_current_epoch(records: Records, place: int, rng: Random) -> Records | None:
    """Have it say another f.a, if it is an ACKEPOCH."""
    packet = _sent(records, place)
    if packet.kind != "ACKEPOCH":
        return None
    return _with(records, place, replace(packet, epoch=rng.choice([e for e in (-1, 0, 1, 2, 3) if e != packet.epoch])))


def sent_too_early(records: Records, place: int, rng: Random) -> Records | None:
    """Have it sent before one of the last four packets that its sender can have received."""
    packet = _sent(records, place)
    to_sender = {each.packet for each in records[:place] if isinstance(each, Sent) and each.receiver == packet.sender}
    passed = [each for each in records[:place] if isinstance(each, Passed) and each.packet in to_sender]
    if not passed:
        return None
    before = passed[-rng.randint(1, min(4, len(passed)))]
    time = before.time - TOO_EARLY
    rest = [each for each in records if not _of(each, packet.packet)]
    opened = [at for at, each in enumerate(rest) if isinstance(each, Opened) and each.connection == packet.connection]
    at = rest.index(before)
    while at > max(opened, default=0) + 1 and _time(rest[at - 1]) > time:
        at -= 1
    end = [each for each in records if isinstance(each, (Passed, Lost)) and each.packet == packet.packet]
    return [*rest[:at], replace(packet, time=time), *(replace(each, time=time + 1) for each in end), *rest[at:]]


def _time(record: AnyRecord) -> int:
    return record.time if isinstance(record, Timed) else 0


CHANGES: tuple[Change, ...] = (
    left_out,
    sent_twice,
    exchanged,
    of_another_epoch,
    of_another_counter,
    of_another_zxid,
    of_another_kind,
    with_another_current_epoch,
    sent_too_early,
)


def changed(records: Records, rng: Random) -> Records | None:
    """Change one packet; None if the change that was drawn does not suit it. Each kind of packet is as likely."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, each in enumerate(records):
        if isinstance(each, Sent) and each.kind in JUDGED:
            places[each.kind].append(place)
    assert places, "only recordings that have packets are changed"
    place = rng.choice(places[rng.choice(sorted(places))])
    return rng.choice(CHANGES)(records, place, rng)


def _has_packets(folder: Path) -> bool:
    return any(isinstance(each, Sent) and each.kind in JUDGED for each in read(folder))


def said_of(records: Records, folder: Path) -> Said:
    """Judge these records by both, with the servers' logs of the recording in `folder`."""
    rules = tuple(dict.fromkeys(each.name for each in judge(records).divergences))
    with TemporaryDirectory() as made:
        for file in folder.iterdir():
            if file.name != RECORDING:
                (Path(made) / file.name).symlink_to(file.resolve())
        (Path(made) / RECORDING).write_bytes(msgspec.json.Encoder().encode_lines(records))
        return Said(rules, conform(Path(made), None, MOST_STATES).verdict)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what both say of the recordings as they are, and then of changed ones, rule by rule."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rules", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--changes", type=int, default=1000, help="how many packets are changed (default: 1000)")
    parser.add_argument("--seed", type=int, default=1, help="of the changes (default: 1)")
    options = parser.parse_args(arguments)
    as_they_are: dict[Path, Said] = {}
    try:
        for folder in (each for above in options.folders for each in recordings_in(above)):
            as_they_are[folder] = said_of([*read(folder)], folder)
    except (BadInput, RecordingError) as error:
        parser.error(str(error))
    _print("as they are", as_they_are.values())
    rng, made = Random(options.seed), []
    sound = [folder for folder, said in as_they_are.items() if said.verdict == "conforms" and _has_packets(folder)]
    while sound and len(made) < options.changes:
        folder = rng.choice(sound)
        records = changed([*read(folder)], rng)
        if records is not None:
            said = said_of(records, folder)
            made.append(Said(tuple(each for each in said.rules if each not in as_they_are[folder].rules), said.verdict))
    _print("with a packet changed, and the rules that are broken by that", made)
    return 0


def _print(title: str, of: Iterable[Said]) -> None:
    rows: dict[str, Counter[str]] = {"no rule": Counter(), "any rule": Counter()}
    for rules, verdict in of:
        for name in ("any rule", *rules) if rules else ("no rule",):
            rows.setdefault(name, Counter())[verdict] += 1
    print(f"{title}\n  {'':<46}{'conforms':>9}{'undecided':>11}{'differs':>9}")
    for name, counts in [*rows.items()][:2] + sorted([*rows.items()][2:]):
        print(f"  {name:<46}{counts['conforms']:>9}{counts['undecided']:>11}{counts['differs']:>9}")


if __name__ == "__main__":
    raise SystemExit(main())

"""The verdict on one run, from its recording: the properties, other faults, the packets, and known issues."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from zabcheck.invariants import Accept, AckEpoch, Adopt, Broadcast, Establish, Verdict, Zxid, check, explaining_first
from zabcheck.zookeeper.recording.folder import RecordingError
from zabcheck.zookeeper.recording.records import (
    Acknowledged,
    AnyRecord,
    Asked,
    Read,
    Replied,
    Requested,
    Sent,
    changes_members,
)
from zabcheck.zookeeper.rules.packets import Judgement
from zabcheck.zookeeper.rules.packets import judge as judge_packets
from zabcheck.zookeeper.trace.incarnations import SortedRecording, read_sorted
from zabcheck.zookeeper.trace.notes import Note
from zabcheck.zookeeper.trace.observe import ObservedRun, observe_sorted
from zabcheck.zookeeper.trace.server_log import without_numbers
from zabcheck.zookeeper.trace.sources import DiskAfter
from zabcheck.zookeeper.verdict.clients import ClientVerdict, history_of, judge_clients
from zabcheck.zookeeper.verdict.coverage import Coverage, coverage
from zabcheck.zookeeper.verdict.elections import election_findings
from zabcheck.zookeeper.verdict.findings import Finding, findings
from zabcheck.zookeeper.verdict.known_issues import IssueMatch, recognise
from zabcheck.zookeeper.verdict.orders import Order, orders_of
from zabcheck.zookeeper.verdict.signatures import (
    Evidence,
    Forgot,
    Overtaking,
    PassedOver,
    ProposedLate,
    SeenByClients,
    StaleNode,
    StaleSync,
    WatchNotTold,
)

SEVEREST = ("durability", "final agreement")
"""The properties whose violation loses data; of several violations these are reported first."""
OF_QUORUMS = ("chosen", "epoch progress")
"""The properties that are judged by the quorums that a trace names."""
SERIOUS = ("could not start", "digest mismatch", "lower vote", "nobody leads", "not read", "witnesses")
"""The kinds of findings that count as wrong. The others are reported, but a fault may explain them."""
SERIOUS_RULES = ("commits_are_kept_by_a_quorum",)
"""The rules for packets whose breach counts as wrong by itself: one more crash would lose acknowledged transactions.

After a breach of another rule, nothing need ever be lost.
"""


class Counts(NamedTuple):
    """The numbers of writes that clients asked for, of acknowledged writes, and of epochs with a leader."""

    asked: int
    acknowledged: int
    epochs: int


class RecordingVerdict(NamedTuple):
    """One run, judged."""

    folder: Path
    zookeeper: str
    schedule: dict[str, Any] | None
    observation: ObservedRun
    verdicts: list[Verdict]
    findings: list[Finding]
    steps: Judgement
    evidence: Evidence
    known: list[IssueMatch]
    coverage: list[Coverage]
    counts: Counts
    unsure: tuple[str, ...] = ()
    """Violations that are not believed because the trace has holes, a sentence each."""
    clients: Sequence[ClientVerdict] = ()
    """The verdicts of `zabcheck.zookeeper.verdict.clients`; empty if only some others were asked for."""
    simulated: bool = False
    """True if the servers were simulated, and not processes."""
    orders: frozenset[Order] = frozenset()

    @property
    def violated(self) -> list[str]:
        """The names of the properties that are violated, the severest first."""
        names = [verdict.property for verdict in explaining_first(self.verdicts) if verdict.status == "violated"]
        return sorted(names, key=lambda name: SEVEREST.index(name) if name in SEVEREST else len(SEVEREST))

    @property
    def wrong(self) -> list[str]:
        """The faults that count, by name, the severest first: properties, kinds of findings, and then serious rules."""
        clients = [verdict.property for verdict in self.clients if verdict.violation is not None]
        kinds = [finding.kind for finding in self.findings if _counts(finding)]
        rules = [each.name for each in self.steps.divergences if each.name in SERIOUS_RULES]
        return list(dict.fromkeys([*self.violated, *clients, *kinds, *rules]))

    @property
    def noticed(self) -> list[str]:
        """Other findings, by name: exceptions in logs, and rules that packets do not keep."""
        errors = [without_numbers(each.text.partition("\n")[0]) for each in self.findings if not _counts(each)]
        rules = [each.name for each in self.steps.divergences if each.name not in SERIOUS_RULES]
        return list(dict.fromkeys([*self.unsure, *errors, *rules]))


def _counts(finding: Finding) -> bool:
    """Return True if a finding counts as wrong. A fresh server that does not start does not: its disk was empty."""
    return finding.kind in SERIOUS and (finding.kind, finding.incarnation) != ("could not start", 0)


def judge(folder: Path, properties: Sequence[str] | None = None) -> RecordingVerdict:
    """Judge the recording in `folder`, by these properties (None: by all). O(records and lines of logs).

    RecordingError if it cannot be read.
    """
    try:
        return _judge(folder, properties)
    except RecordingError:
        raise
    except ValueError as error:  # a zxid that is none
        raise RecordingError(f"{folder}: {error}") from None


def _judge(folder: Path, properties: Sequence[str] | None) -> RecordingVerdict:
    recording: SortedRecording = read_sorted(folder)
    observation = observe_sorted(recording)
    verdicts, unsure = believed(check(observation.trace(), properties), observation.holes)
    verdicts = [*governed(verdicts, recording.records)]
    found = [*election_findings(recording), *findings(recording, observation)]
    steps = judge_packets(recording.records)
    version = recording.run.zookeeper
    forgotten, skipped = list(forgot(observation, verdicts)), list(passed_over(observation))
    clients = judge_clients(history_of(recording), not observation.holes) if properties is None else []
    older, late = list(behind(clients)), list(proposed_late(observation))
    seen = list(seen_by_clients(clients, recording.records))
    evidence = Evidence(steps.divergences, found, forgotten, observation.notes, skipped, older, late, seen)
    known = recognise(version, *evidence)
    covered = coverage(recording, observation)
    schedule, counts = recording.run.schedule, counts_of(recording.records)
    return RecordingVerdict(
        folder,
        version,
        schedule,
        observation,
        verdicts,
        found,
        steps,
        evidence,
        known,
        covered,
        counts,
        unsure,
        clients,
        recording.run.simulated,
        orders_of(recording.records),
    )


def counts_of(records: Sequence[AnyRecord]) -> Counts:
    """Count the writes and the epochs of a recording."""
    epochs = {each.zxid >> 32: None for each in records if isinstance(each, Sent) and each.kind == "NEWLEADER"}
    asked, acknowledged = (sum(isinstance(each, kind) for each in records) for kind in (Asked, Acknowledged))
    return Counts(asked, acknowledged, len(epochs))


def believed(verdicts: Sequence[Verdict], holes: Sequence[Note]) -> tuple[list[Verdict], tuple[str, ...]]:
    """Return the verdicts on a trace with these holes, and the violations that are not believed because of them.

    A hole in the middle of a trace can make a sound run look like a violation, so none is believed then.
    """
    if not holes:
        return [*verdicts], ()
    violated = [verdict.property for verdict in verdicts if verdict.status == "violated"]
    unsure = tuple(
        f"{name} seems to be violated, but of the run something is not known: {holes[0].words()}" for name in violated
    )
    believed = [
        replace(verdict, status="inconclusive", violation=None) if verdict.property in violated else verdict
        for verdict in verdicts
    ]
    return believed, unsure


def governed(verdicts: Sequence[Verdict], records: Sequence[AnyRecord]) -> Iterator[Verdict]:
    """Yield the verdicts; those that depend on quorums are inconclusive if a server may have another list of servers.

    The trace names the quorums with which the run began, and another list may have others. O(records).
    """
    changes = any(map(changes_members, records))
    for verdict in verdicts:
        if changes and verdict.property in OF_QUORUMS:
            yield replace(verdict, status="inconclusive", violation=None)
        else:
            yield verdict


def forgot(observation: ObservedRun, verdicts: Sequence[Verdict]) -> Iterator[Forgot]:
    """Find servers that sent an ACK-E with less than they had, if that breaks invariant 4. O(events)."""
    for verdict in verdicts:
        witness = verdict.violation.witness[0] if verdict.violation is not None else None
        if verdict.property != "invariant 4" or not isinstance(witness, AckEpoch):
            continue
        before: Adopt | Accept | None = None
        for event in observation.events:
            if event == witness:
                break
            if isinstance(event, Adopt | Accept) and event.process == witness.process:
                before = event
        if before is not None:
            had = before.zxid if isinstance(before, Adopt) else before.txn.zxid
            yield Forgot(witness.process, witness.zxid, had, before.incarnation != witness.incarnation)


def passed_over(observation: ObservedRun) -> Iterator[PassedOver]:
    """Find leaders that lacked their own first transaction of an earlier epoch when they brought followers up to date.

    O(events). The transactions that followers acknowledge in an epoch are those that its leader brought them; the disk
    of a server may have fewer, if it was killed before it acknowledged. Only each server's own order matters.
    """
    leaders = {event.epoch: event.process for event in observation.events if isinstance(event, Establish)}
    adopted = [
        event
        for event, source in zip(observation.events, observation.sources, strict=True)
        if isinstance(event, Adopt) and not isinstance(source, DiskAfter)
    ]
    led = {event.epoch: event for event in adopted if leaders.get(event.epoch) == event.process}
    broadcast: dict[tuple[int, int], list[Zxid]] = {}
    for event in observation.events:
        if isinstance(event, Broadcast) and event.txn.zxid.counter == 1:
            broadcast.setdefault((event.process, event.incarnation), []).append(event.txn.zxid)
    for event in adopted:
        own = led.get(event.epoch, event)
        for zxid in broadcast.get((own.process, own.incarnation), ()):
            if event.zxid < zxid <= own.zxid and zxid.epoch < event.epoch:
                yield PassedOver(own.process, zxid, event.epoch, event.process, event.zxid)


def proposed_late(observation: ObservedRun) -> Iterator[ProposedLate]:
    """Find transactions that a leader has broadcast in a later epoch than that of their zxid. O(events)."""
    for event in observation.events:
        if isinstance(event, Broadcast) and event.txn.zxid.epoch < event.epoch:
            yield ProposedLate(event.process, event.txn.zxid, event.epoch)


def behind(verdicts: Sequence[ClientVerdict]) -> Iterator[StaleNode]:
    """Find the server that has an older node in the end than another that has delivered no more. O(verdicts)."""
    for verdict in verdicts:
        if verdict.property == "data agreement" and verdict.violation is not None:
            reads = [each for each in verdict.violation.witness if isinstance(each, Read) and each.states]
            if len(reads) == 2:  # otherwise one server does not have the node at all
                (newer,), (older,) = (each.states for each in reads)
                if older.changed < newer.changed:
                    yield StaleNode(reads[1].server, older.path, older.changed, newer.changed)


def seen_by_clients(verdicts: Sequence[ClientVerdict], records: Sequence[AnyRecord]) -> Iterator[SeenByClients]:
    """Find what signatures of known bugs need of broken promises to sessions. O(verdicts + records)."""
    broken = {each.property: each.violation.witness for each in verdicts if each.violation is not None}
    for name, find in _SEEN.items():
        witness = broken.get(name, ())
        asked = [each for each in witness if isinstance(each, Requested)]
        answered = {(each.client, each.number): each for each in witness if isinstance(each, Replied)}
        yield from find([(each, answered.get((each.client, each.number))) for each in asked], records)


_Answered = Sequence[tuple[Requested, Replied | None]]


def _stale_syncs(witness: _Answered, records: Sequence[AnyRecord]) -> Iterator[SeenByClients]:
    zxids = {request: Zxid.unpack(reply.zxid) for request, reply in witness if reply is not None}
    for request, told in zxids.items():
        if request.what == "sync":
            yield StaleSync(request.client, told, max(zxids.values()))


def _overtakings(witness: _Answered, records: Sequence[AnyRecord]) -> Iterator[SeenByClients]:
    for request, reply in witness[-1:]:
        if reply is not None and reply.error and not reply.zxid:
            yield Overtaking(request.client, request.number, reply.error)


def _watches_not_told(witness: _Answered, records: Sequence[AnyRecord]) -> Iterator[SeenByClients]:
    for request, _ in witness[:1]:
        if request.what == "watch":
            also = any(
                isinstance(each, Requested)
                and (each.watches, each.session, each.paths) == (True, request.session, request.paths)
                and each.what != "watch"
                and each.number > request.number
                for each in records
            )
            yield WatchNotTold(request.client, request.paths[0], also)


_SEEN = {"sync": _stale_syncs, "session order": _overtakings, "watches": _watches_not_told}
"""For each property what is seen of its witness, the requests of which are in the order of the breach."""

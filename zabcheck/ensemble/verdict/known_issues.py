"""Known bugs of ZooKeeper, by what they look like from outside: "this looks like ZOOKEEPER-4394", with the evidence.

A signature is no proof: another bug may look the same. It is asked only for versions that have the bug, as read in
ZooKeeper's sources at its release tags. An entry's `affected` are those versions: from the first, up to the one that is
cured (None: there is none up to 3.9.5). One bug is here of which no issue is known: its key is `NO_NUMBER`.

Not here, although they concern Zab: those that were cured before 3.6, the oldest version that can be run
(ZOOKEEPER-335, 790, 962, 1154, 1282, 1319, 2845, 3104), and ZOOKEEPER-3023, of which nothing is seen outside.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct

from invariants import Zxid
from zabcheck.ensemble.rules.steps import Divergence
from zabcheck.ensemble.verdict.findings import LATE

NO_NUMBER = "no issue known"
"""The key of a bug that was found here, and of which ZooKeeper's issues, as far as they were searched, say nothing."""

Version = tuple[int, ...]
"""3.8.0 is (3, 8, 0)."""


class Finding(Protocol):
    """Something that is wrong in a run: what a signature needs of it.

    `text`: what the server said, with the class of an exception and the first lines of its stack trace.
    """

    @property
    def server(self) -> int | None:
        """Whom it is about."""

    @property
    def text(self) -> str:
        """What was said."""


class Forgot(NamedTuple):
    """A server told of a history up to `told` when it had one up to `had` (invariant 4 of the paper is violated).

    `restarted`: it was started again in between.
    """

    server: int
    told: Zxid
    had: Zxid
    restarted: bool


class Evidence(NamedTuple):
    """What is known of a run. `notes` are those of its observation."""

    divergences: Sequence[Divergence]
    findings: Sequence[Finding]
    forgot: Sequence[Forgot]
    notes: Sequence[str]


Signature = Callable[[Evidence], str | None]
"""Why a run looks like this issue, in a sentence; None if it does not."""


class KnownIssue(Struct, frozen=True):
    """One of ZooKeeper's bugs. `title` is what is wrong, in our words."""

    key: str
    title: str
    affected: tuple[tuple[str, str | None], ...]
    signature: Signature

    def affects(self, version: str) -> bool:
        """Whether that version has it."""
        asked = parsed(version)
        return any(
            parsed(first) <= asked and (cured is None or asked < parsed(cured)) for first, cured in self.affected
        )


class Recognised(Struct, frozen=True):
    """A run looks like a known issue, because of `why`."""

    issue: KnownIssue
    why: str

    def sentence(self) -> str:
        """For a reader."""
        return f"this looks like {self.issue.key} ({self.issue.title}): {self.why}"


def parsed(version: str) -> Version:
    """The numbers that a version begins with: "3.5.3-beta" is (3, 5, 3). ValueError if there are none."""
    numbers = re.match(r"\d+(\.\d+)*", version)
    if numbers is None:
        raise ValueError(f"expected a version such as 3.8.0, found {version!r}")
    return tuple(int(part) for part in numbers[0].split("."))


def recognise(
    version: str,
    divergences: Sequence[Divergence],
    findings: Sequence[Finding] = (),
    forgot: Sequence[Forgot] = (),
    notes: Sequence[str] = (),
) -> list[Recognised]:
    """The known issues that a run of this version looks like, in the order of the list. O(issues times evidence)."""
    evidence = Evidence(divergences, findings, forgot, notes)
    asked = ((issue, issue.signature(evidence)) for issue in ISSUES if issue.affects(version))
    return [Recognised(issue, why) for issue, why in asked if why is not None]


# What signatures are made of.


_FORGETS = ("ack_e_keeps_the_history", "newleader_keeps_what_the_leader_acknowledged")
"""The rules against forgetting what was acknowledged: of a follower, seen in what it tells, and of a leader."""


def _diverges(evidence: Evidence, *names: str) -> Iterator[Divergence]:
    return (each for each in evidence.divergences if each.name in names)


def _first(reasons: Iterable[str]) -> str | None:
    return next(iter(reasons), None)


def _said(evidence: Evidence, *parts: str) -> str | None:
    """Whether a server said something with all of these in it."""
    return _first(
        f"server {each.server} says {parts[0]!r}" + (f" in {parts[1]}" if len(parts) > 1 else "")
        for each in evidence.findings
        if all(part in each.text for part in parts)
    )


def _forgot(evidence: Evidence, said: str, *syncs: str) -> str | None:
    """Whether a server that was started again has not what it had told of."""
    return _first(
        f"server {each.server} was started again without what its {said} (packet {each.contradicts.packet}) told of"
        + (f", behind {each.contradicts.sync}" if each.contradicts.sync else "")
        for each in _diverges(evidence, *_FORGETS)
        if each.contradicts is not None
        and each.contradicts.what == said
        and each.contradicts.restarted
        and each.contradicts.sync in syncs
    )


# The signatures.


def cannot_load_its_epoch(evidence: Evidence) -> str | None:
    """QuorumPeer.loadDataBase refuses a database that is newer than the file currentEpoch."""
    return _said(evidence, "is older than the last zxid")


def stops_at_an_empty_log(evidence: Evidence) -> str | None:
    """A log file is made before its header is written: a crash in between leaves an empty one."""
    return _said(evidence, "java.io.EOFException", "FileHeader.deserialize")


def forgot_a_snapshot_in_memory(evidence: Evidence) -> str | None:
    """It told of a history that it had taken over by a SNAP which it never acknowledged."""
    return _forgot(evidence, "ACKEPOCH", "SNAP")


def forgot_the_diff(evidence: Evidence) -> str | None:
    """It acknowledged NEWLEADER behind a DIFF, and its log lacks some of that."""
    return _forgot(evidence, "ACK of NEWLEADER", "DIFF")


def fails_at_a_commit(evidence: Evidence) -> str | None:
    """The proposal was logged at NEWLEADER, and is no longer in the list where its COMMIT looks for it."""
    return _said(evidence, "NullPointerException", "Learner.syncWithLeader")


def adopted_the_epoch_without_the_history(evidence: Evidence) -> str | None:
    """The file currentEpoch was written, the log not yet."""
    return _first(
        f"server {each.server} has the epoch, without its history (packet {each.packet})"
        for each in _diverges(evidence, "ack_e_has_the_initial_history")
    )


def acknowledged_a_proposal_too_early(evidence: Evidence) -> str | None:
    """The thread that logs was faster than the one that acknowledges NEWLEADER."""
    return _first(
        f"server {each.server} sends {each.seen} before its ACK of NEWLEADER (packet {each.packet})"
        for each in _diverges(evidence, "ack_ld_comes_first")
    )


def fails_at_an_acknowledgement(evidence: Evidence) -> str | None:
    """The connection is closed twice, by the thread that acknowledges too."""
    return _said(evidence, "NullPointerException", "SendAckRequestProcessor")


def is_shut_down_in_part(evidence: Evidence) -> str | None:
    """The thread that logs goes on after the server has left its leader.

    If that was before UPTODATE, memory is not even brought up to the log: the server says less than it acknowledged, is
    sent the same once more, and logs that twice.
    """
    lags = (
        f"server {each.server} goes on from before its ACK of NEWLEADER (packet {each.contradicts.packet}), "
        "and was not started again since"
        for each in _diverges(evidence, *_FORGETS)
        if each.contradicts is not None
        and each.contradicts.what == "ACK of NEWLEADER"
        and each.contradicts.sync == "DIFF"
        and not each.contradicts.restarted
    )
    behind = (
        f"server {each.server} has acknowledged a history up to {each.had}, and tells of {each.told}, without having "
        "been started again"
        for each in evidence.forgot
        if not each.restarted
    )
    return _has_more(evidence, "DIFF", "SNAP") or _first(lags) or _first(behind)


def got_back_what_was_cut(evidence: Evidence) -> str | None:
    """TRUNC shortens the log, and the database is loaded from a snapshot that is newer."""
    back = (note for note in evidence.notes if "told to truncate after" in note and "goes on from its snapshot" in note)
    return _has_more(evidence, "TRUNC") or _first(back)


def _has_more(evidence: Evidence, *syncs: str) -> str | None:
    return _first(
        f"server {each.server} has {each.seen} after an ACK of NEWLEADER behind {each.contradicts.sync} "
        f"(packet {each.contradicts.packet}), and nobody has sent it that since"
        for each in _diverges(evidence, "ack_e_has_nothing_else")
        if each.contradicts is not None and each.contradicts.sync in syncs
    )


_GAPS = ("proposals_have_no_gap", "proposals_continue_one_history")
"""The rules against a hole in what a leader proposes."""


def reads_a_log_that_a_snapshot_overtook(evidence: Evidence) -> str | None:
    """A server that takes over a snapshot keeps its log: what was to be cut is still in it, what it was brought is not.

    As leader it brings others up to date from that log: it has them cut what is committed, and does not send it again.
    """
    return _first(
        f"server {each.server} had taken over a snapshot; as a leader it sends {each.seen} instead of {each.expected}"
        for each in _diverges(evidence, *_GAPS)
        if any(note.startswith(f"server {each.server}: what its snapshot up to") for note in evidence.notes)
    )


def passes_a_hole_on(evidence: Evidence) -> str | None:
    """What the leader remembers as committed has a hole, or ends too early."""
    gaps = (
        f"server {each.server} leads, and leaves out transactions: {each.seen} instead of {each.expected}"
        for each in _diverges(evidence, *_GAPS)
    )
    short = (
        f"server {each.server} leads, and brings {each.seen} instead of {each.expected}"
        for each in _diverges(evidence, "newleader_has_the_best_history", _FORGETS[1])
    )
    return _first(gaps) or _first(short)


def forgot_what_it_had_in_memory(evidence: Evidence) -> str | None:
    """A synchronisation with TRUNC was broken off: memory was ahead of the log."""
    return _forgot(evidence, "ACKEPOCH", "TRUNC")


def applies_a_transaction_again(evidence: Evidence) -> str | None:
    """A server that leaves its leader loads its log, and does not wait for the thread that delivers.

    What it remembers as committed may end with that thread's transaction: as a leader it cuts later ones off.
    """
    late = _first(
        f"the digest of server {each.server} does not fit, of one transaction only: {LATE}"
        for each in evidence.findings
        if LATE in each.text
    )
    cut = _first(
        f"; as a leader it brings {each.seen} instead of {each.expected}"
        for each in _diverges(evidence, _FORGETS[1], "newleader_has_the_best_history")
        if any(LATE in finding.text and finding.server == each.server for finding in evidence.findings)
    )
    return late and late + (cut or "")


ISSUES: tuple[KnownIssue, ...] = (
    KnownIssue(
        "ZOOKEEPER-1653",
        "a crash before the file currentEpoch is written leaves a server that cannot start",
        (("3.4.0", "3.4.6"), ("3.5.0", None)),
        cannot_load_its_epoch,
    ),
    KnownIssue(
        "ZOOKEEPER-2332",
        "a crash that leaves an empty log file leaves a server that cannot start",
        (("3.4.0", "3.9.3"),),
        stops_at_an_empty_log,
    ),
    KnownIssue(
        "ZOOKEEPER-2846",
        "a leader brings others up to date from a log that a snapshot has overtaken",
        (("3.5.0", None),),
        reads_a_log_that_a_snapshot_overtook,
    ),
    KnownIssue(
        "ZOOKEEPER-3642",
        "a snapshot that was taken over in memory only counts as the server's history",
        (("3.4.0", "3.5.10"), ("3.6.0", "3.6.3")),
        forgot_a_snapshot_in_memory,
    ),
    KnownIssue(
        "ZOOKEEPER-3911",
        "NEWLEADER is acknowledged before what DIFF brought is logged",
        (("3.5.3", "3.5.10"), ("3.6.0", "3.6.3")),
        forgot_the_diff,
    ),
    KnownIssue(
        "ZOOKEEPER-4394",
        "a COMMIT between NEWLEADER and UPTODATE makes the follower fail",
        (("3.5.10", "3.6.0"), ("3.6.3", "3.9.3")),
        fails_at_a_commit,
    ),
    KnownIssue(
        "ZOOKEEPER-4409",
        "the thread that acknowledges fails when the connection is closed already",
        (("3.7.0", "3.9.3"),),
        fails_at_an_acknowledgement,
    ),
    KnownIssue(
        "ZOOKEEPER-4643",
        "the epoch is written before its history",
        (("3.5.3", "3.8.5"), ("3.9.0", "3.9.2")),
        adopted_the_epoch_without_the_history,
    ),
    KnownIssue(
        "ZOOKEEPER-4646, ZOOKEEPER-4785",
        "NEWLEADER is acknowledged while what DIFF brought is still being logged",
        (("3.5.10", "3.6.0"), ("3.6.3", "3.8.5"), ("3.9.0", "3.9.2")),
        forgot_the_diff,
    ),
    KnownIssue(
        "ZOOKEEPER-4685",
        "a proposal of the initial history is acknowledged before NEWLEADER",
        (("3.5.10", "3.6.0"), ("3.6.3", "3.8.5"), ("3.9.0", "3.9.2")),
        acknowledged_a_proposal_too_early,
    ),
    KnownIssue(
        "ZOOKEEPER-4712",
        "a server that leaves its leader is shut down in part: its memory and its log do not agree",
        (("3.5.10", "3.6.0"), ("3.6.3", "3.9.3")),
        is_shut_down_in_part,
    ),
    KnownIssue(
        "ZOOKEEPER-4837",
        "TRUNC loads a snapshot that is newer than the cut",
        (("3.4.0", None),),
        got_back_what_was_cut,
    ),
    KnownIssue(
        "ZOOKEEPER-4925",
        "what was committed while a server caught up is missing in what it remembers, and in what it sends as a leader",
        (("3.9.3", "3.9.4"),),
        passes_a_hole_on,
    ),
    KnownIssue(
        "ZOOKEEPER-5094",
        "after a broken-off TRUNC a server's memory is ahead of its log",
        (("3.5.3", None),),
        forgot_what_it_had_in_memory,
    ),
    KnownIssue(
        NO_NUMBER,
        "a server that leaves its leader loads its log, and then applies a transaction of it again",
        (("3.6.0", None),),
        applies_a_transaction_again,
    ),
)
"""In the order of their numbers."""

"""Finds problems in the logs of servers, and the known bugs that they may be.

A problem is one that the lines say, or that follows from what they say; what they leave open is none. For each the bugs
that look like it are considered: one is out if the version is not affected, or if what it takes is not in the lines.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from zabcheck.zookeeper.serverlogs.reading import OperatorsLog
from zabcheck.zookeeper.serverlogs.timeline import Reign, TimelineEntry
from zabcheck.zookeeper.trace.sources import LogPlace
from zabcheck.zookeeper.verdict.findings import NEVER_EXPECTED, ErrorLogged, Finding
from zabcheck.zookeeper.verdict.known_issues import KnownIssue, issue_named
from zabcheck.zookeeper.verdict.signatures import Evidence
from zabcheck.zookeeper.wire.zxids import COUNTER, epoch_of, is_txn

Kind = Literal[
    "does not start",
    "old epoch",
    "fatal error",
    "digest",
    "lost",
    "behind",
    "two leaders",
    "epoch again",
    "forgot",
    "came back",
    "gap",
    "emptied",
    "lags",
    "slow disk",
    "error",
    "looking",
]
NOTES: tuple[Kind, ...] = ("emptied", "lags", "slow disk", "error", "looking")
"""The kinds that a sound ensemble shows, too."""

Need = Literal[
    "error", "hole", "said", "failed write", "DIFF", "SNAP", "TRUNC", "digest", "newer", "older", "broken off", ""
]
"""The evidence that a bug needs.

error         this error; "hole": an error that tells of a hole in the log
said          the bug's own error, before; "failed write": one of a write to the log
DIFF, SNAP, TRUNC   such a synchronisation, before; "digest": a digest that does not fit
newer         after the cut a snapshot is loaded that is newer than the cut; "older": none is
broken off    the synchronisation with the cut did not come to its end
"""
Lacks = Need | Literal["version"]
"""The reason why a bug is ruled out: something that it takes is not in the lines, or the version; "" if it is not."""


class Suspect(Struct, frozen=True):
    """A known issue that may be the reason for a problem, unless it `lacks` something."""

    issue: KnownIssue
    lacks: Lacks


class Problem(Struct, frozen=True):
    """Something wrong at a server, or a note. `before` is the moment that contradicts `moment`, where two are needed.

    does not start  it cannot load its database
    old epoch       its leader, or its own file, has an older epoch than it had promised
    fatal error     a thread that it cannot do without has ended
    digest          its tree is not that of its leader
    lost            it refuses a client that has seen what it was told to cut off (`before`)
    behind          it serves, and a client has seen a later epoch; no line says that it got there
    two leaders     it leads an epoch with a quorum that another server had led (`before`)
    epoch again     it leads an epoch that is not later than one it led (`before`)
    forgot          it votes with less than it had (`before`), and was not told to cut that off
    came back       what it was told to cut off (`before`) is there again
    gap             it got a proposal that does not follow the one before
    emptied         it begins with nothing, and had something (`before`)
    lags            it refuses clients that have seen more, of the same epoch
    looking         it has no leader where its log ends
    """

    kind: Kind
    moment: TimelineEntry
    before: TimelineEntry | None = None
    suspects: tuple[Suspect, ...] = ()

    @property
    def wrong(self) -> bool:
        """True if it is not a note."""
        return self.kind not in NOTES


def problems(
    logs: Sequence[OperatorsLog], timelines: Sequence[Sequence[TimelineEntry]], led: Sequence[Reign]
) -> list[Problem]:
    """Find all problems, by kind and server; equal ones are counted. O(moments · kinds)."""
    found = [problem for moments in timelines for look in _LOOKS for problem in look(moments)]
    found += _leaders(led)
    joined: dict[tuple[Kind, int, object], Problem] = {}
    for each in found:
        error = each.moment.error
        key = each.kind, each.moment.server, (each.moment.text, error and error.cause) if error is not None else None
        if (first := joined.get(key)) is None:
            joined[key] = each
        else:
            count = first.moment.count + each.moment.count
            joined[key] = replace(first, moment=replace(first.moment, count=count, until=each.moment.until))
    ordered = sorted(joined.values(), key=lambda each: (not each.wrong, each.moment.time, each.moment.server))
    return [replace(each, suspects=_suspects(each, logs, timelines)) for each in ordered]


# Problems at one server.


def _errors(moments: Sequence[TimelineEntry]) -> Iterator[Problem]:
    """Errors by what they mean. An error that only passes on the one before it is none of its own."""
    for before, moment, after in zip((None, *moments), moments, (*moments[1:], None), strict=False):
        error, last = moment.error, None if before is None else before.error
        if error is None:
            continue
        ends = after is not None and after.error is not None and after.error.message.startswith(_ENDS)
        if last is None or not (error.message.startswith(_ENDS) or (_is_hole(error) and _is_hole(last))):
            yield Problem(_kind_of(error, ends), moment)


_ENDS = "Unexpected exception, exiting abnormally"
_OLD_EPOCH = "is less than"
_HOLE = "cached out of order"


def _kind_of(error: ErrorLogged, ends: bool) -> Kind:
    """Return the kind of problem that an error is; `ends`: the server says next that it ends."""
    if "epoch" in error.exception and _OLD_EPOCH in error.exception:
        return "old epoch"
    if ends or error.message.startswith(tuple(NEVER_EXPECTED.split("|"))):
        return "does not start"
    named = _is_hole(error) or any(_signed(issue, error) for issue in _BY_SIGNATURE)
    return "fatal error" if named or error.message.startswith("Severe unrecoverable error") else "error"


def _digests(moments: Sequence[TimelineEntry]) -> Iterator[Problem]:
    """Digests that do not fit, but for those that a server finds as it loads a log with a hole: none fits behind it."""
    held = list[TimelineEntry]()
    loads = False
    for moment in moments:
        if moment.kind == "digest":
            held.append(moment)
            continue
        if not (loads and moment.error is not None and _is_hole(moment.error)):
            yield from (Problem("digest", each) for each in held)
        held = []
        loads = moment.kind == "start" or (loads and moment.kind != "looking")
    yield from (Problem("digest", each) for each in held)


def _gaps(moments: Sequence[TimelineEntry]) -> Iterator[Problem]:
    return (Problem("gap", each) for each in moments if each.kind == "gap")


def _slow(moments: Sequence[TimelineEntry]) -> Iterator[Problem]:
    return (Problem("slow disk", each) for each in moments if each.kind == "slow disk")


def _refused(moments: Sequence[TimelineEntry]) -> Iterator[Problem]:
    """Refused clients: by what they have seen, and whether the server gets there."""
    cut: TimelineEntry | None = None
    vote = 0
    for at, moment in enumerate(moments):
        if moment.kind == "looking":
            vote = moment.zxid or 0
        elif moment.kind == "takes over" and moment.zxid is not None:
            cut = replace(moment, other=vote) if moment.text == "TRUNC" else None
        elif moment.kind == "refused" and moment.other is not None and moment.zxid is not None:
            seen = moment.other
            if cut is not None and cut.zxid is not None and cut.other is not None and cut.zxid < seen <= cut.other:
                yield Problem("lost", moment, cut)
            elif epoch_of(seen) == epoch_of(moment.zxid):
                yield Problem("lags", moment)
            elif not any(_reaches(each, seen) for each in moments[at + 1 :]):
                yield Problem("behind", moment)


def _reaches(moment: TimelineEntry, zxid: int) -> bool:
    said = moment.kind in ("looking", "established", "refused") or (moment.kind == "takes over")
    return said and moment.zxid is not None and moment.zxid >= zxid


def _votes(moments: Sequence[TimelineEntry]) -> Iterator[Problem]:
    """Votes that are less than what the server had, or name again what it had cut off."""
    had: TimelineEntry | None = None
    taking: TimelineEntry | None = None
    cut: TimelineEntry | None = None
    loaded = False
    for moment in moments:
        if moment.kind == "start" and not loaded:
            cut = None  # it may have ended before it had cut its log
        elif moment.kind == "takes over":
            taking, loaded = moment, False
            cut = replace(moment, other=had and had.zxid) if moment.text == "TRUNC" else None
            had = moment if moment.text in ("TRUNC", "SNAP") else had
        elif moment.kind == "up to date" and taking is not None:
            had, taking = (taking if taking.zxid else had), None
        elif moment.kind == "reads snapshot" and cut is not None:
            loaded = True
            if (moment.zxid or 0) > (cut.zxid or 0):
                yield Problem("came back", moment, cut)
                cut = None
        elif moment.kind == "looking" and moment.zxid is not None:
            if cut is not None and moment.zxid == cut.other and moment.zxid > (cut.zxid or 0):
                yield Problem("came back", replace(moment, text="" if taking is not None else "up to date"), cut)
            elif had is not None and had.zxid is not None and is_txn(had.zxid) and moment.zxid < had.zxid:
                yield Problem("forgot" if moment.zxid else "emptied", moment, had)
            had, taking, cut = (moment if moment.zxid & COUNTER else had), None, None


def _without_leader(moments: Sequence[TimelineEntry]) -> Iterator[Problem]:
    if moments and moments[-1].kind == "looking":
        yield Problem("looking", moments[-1])


_LOOKS: tuple[Callable[[Sequence[TimelineEntry]], Iterator[Problem]], ...] = (
    _errors,
    _digests,
    _gaps,
    _refused,
    _votes,
    _slow,
    _without_leader,
)


def _leaders(led: Sequence[Reign]) -> Iterator[Problem]:
    """Epochs that are led twice."""
    first: dict[int, Reign] = {}
    latest: dict[int, Reign] = {}
    for reign in sorted(led, key=lambda each: each.begins.time):
        own = latest.get(reign.server)
        other = first.setdefault(reign.epoch, reign)
        if own is not None and own.epoch >= reign.epoch:
            yield Problem("epoch again", reign.begins, own.begins)
        elif other.server != reign.server:
            yield Problem("two leaders", reign.begins, other.begins)
        latest[reign.server] = reign


# Which known issue it may be.

_BY_SIGNATURE = (
    "ZOOKEEPER-1653",
    "ZOOKEEPER-2307",
    "ZOOKEEPER-2332",
    "ZOOKEEPER-4306",
    "ZOOKEEPER-4394",
    "ZOOKEEPER-4409",
    "ZOOKEEPER-4882",
)
"""The issues that a server's own words show."""

_CANDIDATES: dict[Kind, tuple[tuple[str, tuple[Need, ...]], ...]] = {
    "does not start": (
        ("ZOOKEEPER-1653", ("error",)),
        ("ZOOKEEPER-2332", ("error",)),
        ("ZOOKEEPER-4882", ("hole", "failed write")),
        ("ZOOKEEPER-5094", ("hole", "TRUNC")),
        ("unforced-snapshot", ("hole", "TRUNC")),
    ),
    "old epoch": (("ZOOKEEPER-2307", ("error",)), ("ZOOKEEPER-4311", ("error",))),
    "fatal error": (
        ("ZOOKEEPER-2846", ("hole",)),
        ("ZOOKEEPER-4306", ("error",)),
        ("ZOOKEEPER-4394", ("error",)),
        ("ZOOKEEPER-4409", ("error",)),
        ("ZOOKEEPER-4882", ("error",)),
        ("late-proposal", ("error",)),
    ),
    "digest": (
        ("ZOOKEEPER-2832", ("SNAP",)),
        ("ZOOKEEPER-2846", ("TRUNC",)),
        ("ZOOKEEPER-3598", ()),
        ("ZOOKEEPER-4409", ("said",)),
        ("ZOOKEEPER-4882", ("failed write",)),
        ("ZOOKEEPER-4925", ("DIFF",)),
        ("ZOOKEEPER-5094", ("TRUNC",)),
        ("unforced-snapshot", ("TRUNC",)),
        ("numbered-not-applied", ()),
    ),
    "lost": (
        ("ZOOKEEPER-2846", ("SNAP",)),
        ("ZOOKEEPER-3598", ("digest",)),
        ("ZOOKEEPER-4643", ("DIFF",)),
        ("ZOOKEEPER-4646", ("DIFF",)),
        ("ZOOKEEPER-4712", ("DIFF",)),
        ("ack-before-trunc", ("TRUNC",)),
        ("half-record", ("failed write",)),
    ),
    "forgot": (
        ("ZOOKEEPER-3642", ("SNAP",)),
        ("ZOOKEEPER-3911", ("DIFF",)),
        ("ZOOKEEPER-4646", ("DIFF",)),
        ("ZOOKEEPER-4882", ("failed write",)),
        ("half-record", ("failed write",)),
        ("ZOOKEEPER-5094", ("TRUNC",)),
        ("unforced-snapshot", ("TRUNC",)),
    ),
    "two leaders": (("ZOOKEEPER-4311", ()),),
    "came back": (("ZOOKEEPER-4837", ("newer",)), ("ZOOKEEPER-5094", ("broken off",)), ("trunc-keeps-one", ("older",))),
    "gap": (("ZOOKEEPER-2846", ("SNAP",)), ("ZOOKEEPER-4925", ("DIFF",))),
}
_CANDIDATES["behind"] = _CANDIDATES["lost"]


def _suspects(
    problem: Problem, logs: Sequence[OperatorsLog], timelines: Sequence[Sequence[TimelineEntry]]
) -> tuple[Suspect, ...]:
    """Consider each known issue that looks like a problem. Its conditions may be met at another server, if that led."""
    candidates = _CANDIDATES.get(problem.kind, ())
    if problem.kind == "does not start" and problem.moment.error is not None:
        known = any(_signed(name, problem.moment.error) for name in _BY_SIGNATURE) or _is_hole(problem.moment.error)
        candidates = candidates if known else ()
    anywhere = problem.kind in ("lost", "behind", "gap")
    moments = [
        each
        for server, told in enumerate(timelines)
        if anywhere or server == problem.moment.server
        for each in told
        if anywhere or each.time <= problem.moment.time
    ]
    version = next((each.text for each in reversed(moments) if each.kind == "start" and each.text), None)
    return tuple(
        Suspect(issue := issue_named(name), _lacks(issue, needs, problem, moments, version))
        for name, needs in candidates
    )


def _lacks(
    issue: KnownIssue, needs: Sequence[Need], problem: Problem, moments: Sequence[TimelineEntry], version: str | None
) -> Lacks:
    """Return why a known issue is out; "" if it is not."""
    own = (problem.moment,)
    lacks: Lacks = next((need for need in needs if need in ("error", "hole") and not _is_there(need, issue, own)), "")
    if not lacks and version is not None and not issue.affects(version):
        return "version"
    return lacks or next((need for need in needs if not _is_there(need, issue, (*moments, *own))), "")


def _is_there(need: Need, issue: KnownIssue, moments: Sequence[TimelineEntry]) -> bool:
    """Return True if what a bug takes is in these lines, of which the last are the problem's own."""
    errors = [each.error for each in moments if each.error is not None]
    last = moments[-1]
    match need:
        case "hole":
            return any(map(_is_hole, errors))
        case "error" | "said" | "failed write":
            name = "ZOOKEEPER-4882" if need == "failed write" else issue.name
            return any(_signed(name, each) for each in errors)
        case "digest":
            return any(each.kind == "digest" for each in moments)
        case "newer":
            return last.kind == "reads snapshot"
        case "older":
            return last.kind != "reads snapshot"
        case "broken off":
            return last.kind != "reads snapshot" and not last.text
    return any(each.kind in ("takes over", "sends") and each.text == need for each in moments)


def _is_hole(error: ErrorLogged) -> bool:
    return any(_HOLE in each for each in error.server_said())


def _signed(name: str, error: ErrorLogged) -> bool:
    """Return True if an error is the one that a server shows with this issue."""
    finding = Finding("error", 0, 0, "", error, LogPlace("", 0))
    return issue_named(name).signature(Evidence((), (finding,), (), ())) is not None

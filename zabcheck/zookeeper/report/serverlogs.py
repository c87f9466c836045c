"""The report on operators' logs of servers, for a terminal, as a page and as JSON: what is wrong, and a timeline."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from msgspec import Struct
from rich.console import RenderableType
from rich.text import Text

from zabcheck.campaign.report.sheets import Phrase, Sheet
from zabcheck.campaign.report.terminal import draw_sheets
from zabcheck.invariants import Zxid
from zabcheck.text.pen import Drawing, Pen, padded, unbroken
from zabcheck.text.words import LONGEST_PATH, as_text, counted
from zabcheck.zookeeper.report.bugs import spans
from zabcheck.zookeeper.serverlogs.problems import Lacks, Problem, Suspect
from zabcheck.zookeeper.serverlogs.reading import OperatorsLog
from zabcheck.zookeeper.serverlogs.timeline import Reign, TimelineEntry
from zabcheck.zookeeper.wire.zxids import shown

MOST_MOMENTS = 40
"""The number of moments that a terminal shows; the page and JSON have all."""


class Logs(Struct, frozen=True):
    """The logs of servers, what each says by time, who led when, and what is wrong."""

    servers: tuple[OperatorsLog, ...]
    moments: tuple[TimelineEntry, ...]
    reigns: tuple[Reign, ...]
    problems: tuple[Problem, ...]

    def name(self, moment: TimelineEntry) -> str:
        """Return the name of the server that says this."""
        return as_text(self.servers[moment.server].name)


def time_of(microseconds: int) -> str:
    """Return a time as a log has it, to the millisecond."""
    moment = datetime.fromtimestamp(microseconds // 1_000_000, UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{microseconds // 1000 % 1000:03}"


def _zxid(packed: int | None) -> str:
    return "an unknown zxid" if packed is None else shown(packed)


def words(moment: TimelineEntry) -> str:
    """Return what a server says, as a sentence without its subject."""
    times = f" ({moment.count:,} times, until {time_of(moment.until)})" if moment.count > 1 else ""
    zxid, other = _zxid(moment.zxid), _zxid(moment.other)
    match moment.kind:
        case "start":
            return f"starts{f', version {moment.text}' if moment.text else ''}"
        case "reads snapshot":
            said = f"loads snapshot {zxid}"
        case "looking":
            return "looks for a leader" + ("" if moment.zxid is None else f", and votes for itself with {zxid}")
        case "following" | "observing":
            return {"following": "follows", "observing": "observes"}[moment.kind]
        case "leading":
            return "is elected, and waits for a quorum"
        case "established":
            return f"leads epoch {(moment.zxid or 0) >> 32}, with a quorum"
        case "takes over":
            what = {"DIFF": "take over a DIFF up to", "SNAP": "take over a snapshot as of", "TRUNC": "cut its log to"}
            return f"is told to {what[moment.text]} {zxid}"
        case "sends" if moment.text == "SNAP":
            return f"sends a snapshot to a server that is at {other}"
        case "sends":
            to = "a server" if moment.peer is None else f"server {moment.peer}"
            at = "" if moment.other is None else f", which is at {other}"
            return (
                f"has {to}{at}, " + ("cut its log to " if moment.text == "TRUNC" else "take over a DIFF up to ") + zxid
            )
        case "up to date":
            return "is up to date, and serves"
        case "left":
            said = f"loses its leader: {moment.text}"
        case "stopped":
            said = f"stops: {moment.text}"
        case "refused":
            said = f"is at {zxid}, and refuses a client that has seen {other}"
        case "slow disk":
            said = f"needs {moment.other or 0:,} ms to force its log to the disk"
        case "gap":
            said = f"gets the proposal {other} where {zxid} has to come"
        case "digest":
            said = "has another digest than its leader" + ("" if moment.zxid is None else f" at {zxid}")
        case "error":
            said = _error(moment)
    return said + times


def _error(moment: TimelineEntry) -> str:
    assert moment.error is not None, "an error has one"
    return ": ".join(filter(None, (moment.error.message, moment.error.exception)))


def why(problem: Problem) -> str:
    """Return a problem as a sentence, without the server."""
    said = words(problem.moment)
    before = "" if problem.before is None else f"before, at {time_of(problem.before.time)}: {words(problem.before)}"
    match problem.kind:
        case "does not start":
            return f"does not start: {said}"
        case "old epoch":
            return f"refuses an epoch that is older than one it has promised: {said}"
        case "lost":
            return f"{said}: a write that a client has seen is gone here; {before}"
        case "behind":
            return f"{said}; no line says that it got there"
        case "two leaders":
            return f"{said}, and another server led that epoch at {time_of(_before(problem).time)}"
        case "epoch again":
            return f"{said}, which is not later than before: {before}"
        case "forgot":
            return f"{said}, which is less than it had: {before}"
        case "came back":
            return f"{said}: what it had to cut off is there again; {before}"
        case "emptied":
            return f"begins with nothing: {before}"
        case "lags":
            return f"{said}: followers lag at times, so this alone is no fault"
        case "looking":
            return f"{said}; its log ends there"
        case "fatal error" | "digest" | "gap" | "slow disk" | "error":
            return said


def _before(problem: Problem) -> TimelineEntry:
    assert problem.before is not None, "this kind has one"
    return problem.before


_LACKS: dict[Lacks, str] = {
    "error": "the error is another one",
    "hole": "the error is another one",
    "said": "its exception is not in the lines",
    "failed write": "no write that failed is in the lines",
    "digest": "no digest that does not fit is in the lines",
    "DIFF": "no DIFF is in the lines before",
    "SNAP": "no snapshot from a leader is in the lines before",
    "TRUNC": "no TRUNC is in the lines before",
    "newer": "no snapshot that is newer than the cut was loaded",
    "older": "a snapshot that is newer than the cut was loaded",
    "broken off": "the synchronisation with the cut was not broken off",
    "version": "this version does not have it",
}


def may_be(suspects: Sequence[Suspect]) -> Iterator[str]:
    """Yield the known issues that a problem may be, then those that it is not, by the reason."""
    for each in suspects:
        if not each.lacks:
            yield f"may be {_issue(each)}: {each.issue.title} ({spans(each.issue.affected)})"
    out = sorted((each for each in suspects if each.lacks), key=lambda each: _LACKS[each.lacks])
    for reason, several in groupby(out, key=lambda each: _LACKS[each.lacks]):
        yield f"not {', '.join(map(_issue, several))}: {reason}"


def _issue(suspect: Suspect) -> str:
    return suspect.issue.name


def settles(logs: Logs, problem: Problem) -> str:
    """Return what would settle a problem; "" for a note."""
    server = logs.name(problem.moment)
    match problem.kind:
        case "does not start" | "old epoch":
            return f"zabcheck zookeeper logs DIR, with a copy of the data directory of {server}"
        case "fatal error":
            return f"zabcheck zookeeper logs DIR DIR DIR, with all data directories, before {server} is started again"
        case "two leaders" | "epoch again":
            return (
                "was a server emptied, or started with an older copy of its disk? zabcheck zookeeper logs DIR DIR DIR, "
                "with the data directories of all servers"
            )
    return "zabcheck zookeeper logs DIR DIR DIR, with the data directories of all servers" if problem.wrong else ""


def render(logs: Logs) -> RenderableType:
    """Render who led when, the timeline, and what is wrong; files have lines of their own, to be printed uncropped."""
    shown = [_leaders(logs), _timeline(logs), _problems(logs)]
    return Drawing(
        lambda pen: [
            *draw_sheets(pen, [_servers(logs, files=False)]),
            *_files(pen, logs),
            *draw_sheets(pen, [each for each in shown if each.rows]),
        ]
    )


def _files(pen: Pen, logs: Logs) -> Iterator[Text]:
    """Yield a line for each file: a path that is broken into lines cannot be copied."""
    width = max(len(as_text(each.name)) for each in logs.servers) + 2
    yield Text()
    for each in logs.servers:
        files = [pen.write(as_text(file), longest=LONGEST_PATH) for file in each.files]
        files += [pen.write(f"{as_text(file)} is not given", "yellow", LONGEST_PATH) for file in each.missing]
        for file in files:
            yield unbroken(padded(pen.write(as_text(each.name)), width) + file)


def page(logs: Logs) -> str:
    """Return a page that stands alone, with a column for each server in the timeline."""
    from zabcheck.campaign.report.page import draw_table, page_of

    shown = [_problems(logs), _leaders(logs), _by_server(logs), _servers(logs)]
    names = ", ".join(as_text(each.name) for each in logs.servers)
    return page_of("Logs of servers", names, [(each.name, each.title, draw_table(each)) for each in shown if each.rows])


def _servers(logs: Logs, files: bool = True) -> Sheet:
    rows = [
        (
            Phrase(as_text(each.name)),
            Phrase(f"{time_of(each.first)} to {time_of(each.last)}"),
            Phrase(", ".join(as_text(file) for file in each.files)),
            Phrase(", ".join(f"{as_text(file)} is not given" for file in each.missing), "warning"),
        )[: 4 if files else 2]
        for each in logs.servers
    ]
    note = "Times are as in the lines; the servers' clocks may differ."
    columns = ("server", "from, to", "files", "missing")[: 4 if files else 2]
    return Sheet("servers", "Logs", note, columns, len(columns), rows)


def _leaders(logs: Logs) -> Sheet:
    rows = [
        (
            Phrase(f"{each.epoch}"),
            Phrase(logs.name(each.begins)),
            Phrase(time_of(each.begins.time)),
            Phrase("no line says" if each.ends is None else time_of(each.ends.time)),
            Phrase("" if each.ends is None else words(each.ends)),
        )
        for each in logs.reigns
    ]
    return Sheet("leaders", "Who led when", "", ("epoch", "server", "from", "until", "then it"), 5, rows)


def _timeline(logs: Logs) -> Sheet:
    left_out = max(0, len(logs.moments) - MOST_MOMENTS)
    rows = [(Phrase(time_of(each.time)), Phrase(logs.name(each)), _phrase(each)) for each in logs.moments[left_out:]]
    note = f"The last {MOST_MOMENTS} of {len(logs.moments):,} moments; --out writes a page with all" if left_out else ""
    return Sheet("timeline", "Timeline", note, ("time", "server", "what its log says"), 3, rows)


def _by_server(logs: Logs) -> Sheet:
    empty = Phrase("")
    rows = [
        (
            Phrase(time_of(each.time)),
            *(_phrase(each) if at == each.server else empty for at in range(len(logs.servers))),
        )
        for each in logs.moments
    ]
    names = [as_text(each.name) for each in logs.servers]
    return Sheet("timeline", "Timeline", "", ("time", *names), 1 + len(names), rows)


def _phrase(moment: TimelineEntry) -> Phrase:
    bad = moment.kind in ("error", "digest", "gap", "refused")
    return Phrase(words(moment), "bad" if bad else "good" if moment.kind == "established" else "")


def _problems(logs: Logs) -> Sheet:
    rows: list[tuple[Phrase, Phrase]] = []
    for each in logs.problems:
        head = Phrase("wrong" if each.wrong else "note", "bad" if each.wrong else "warning")
        file = _ending(each.moment.place.file, logs.servers[each.moment.server].files)
        place = f"{as_text(file)}:{each.moment.place.line}"
        rows.append((head, Phrase(f"{logs.name(each.moment)}: {why(each)} ({place})")))
        rows += [(Phrase(""), Phrase(said)) for said in may_be(each.suspects)]
        if settled := settles(logs, each):
            rows.append((Phrase(""), Phrase(f"to settle it: {settled}")))
    return Sheet("problems", "What is wrong", "", ("", "what the lines say"), 2, rows)


def _ending(file: str, files: Sequence[str]) -> str:
    """Return the name of a file, with as many folders before it as tell it apart from the others of `files`."""
    parts = Path(file).parts
    for number in range(1, len(parts)):
        ending = parts[-number:]
        if not any(Path(other).parts[-number:] == ending for other in files if other != file):
            return str(Path(*ending))
    return file


def verdict(logs: Logs) -> str:
    """Return what is wrong, or that nothing is, for the last line."""
    lines = sum(len(each.places) for each in logs.servers)
    wrong = list(dict.fromkeys(f"{logs.name(each.moment)}: {each.kind}" for each in logs.problems if each.wrong))
    if wrong:
        return "; ".join(wrong)
    return f"the logs of {counted(len(logs.servers), 'server', 'servers')} tell of nothing wrong, in {lines:,} lines"


def as_json(logs: Logs) -> dict[str, Any]:
    """Return the fields of the JSON form."""
    return {
        "servers": [
            {
                "name": as_text(each.name),
                "server": each.server,
                "files": [as_text(file) for file in each.files],
                "missing": [as_text(file) for file in each.missing],
                "first": each.first,
                "last": each.last,
                "lines": len(each.places),
            }
            for each in logs.servers
        ],
        "leaders": [
            {
                "epoch": each.epoch,
                "server": logs.name(each.begins),
                "from": each.begins.time,
                "until": None if each.ends is None else each.ends.time,
            }
            for each in logs.reigns
        ],
        "timeline": [_moment_as_json(logs, each) for each in logs.moments],
        "problems": [
            {
                "kind": each.kind,
                "wrong": each.wrong,
                "moment": _moment_as_json(logs, each.moment),
                "before": None if each.before is None else _moment_as_json(logs, each.before),
                "suspects": [{"bug": suspect.issue.name, "lacks": suspect.lacks or None} for suspect in each.suspects],
            }
            for each in logs.problems
        ],
    }


def _moment_as_json(logs: Logs, moment: TimelineEntry) -> dict[str, Any]:
    is_zxid = moment.kind in ("sends", "refused", "gap")
    return {
        "kind": moment.kind,
        "server": logs.name(moment),
        "time": moment.time,
        "until": moment.until,
        "count": moment.count,
        "zxid": None if moment.zxid is None else Zxid.unpack(moment.zxid),
        "other": Zxid.unpack(moment.other) if is_zxid and moment.other is not None else None,
        "milliseconds": moment.other if moment.kind == "slow disk" else None,
        "peer": moment.peer,
        "text": _error(moment) if moment.error is not None else moment.text,
        "file": as_text(moment.place.file),
        "line": moment.place.line,
    }

"""The report on what to do about the disks of ZooKeeper's servers, for a terminal and as JSON."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from zabcheck.invariants import Zxid
from zabcheck.text.pen import padded, unbroken
from zabcheck.text.words import LONGEST_PATH, as_text, clean
from zabcheck.zookeeper.disk.contents import DiskContents
from zabcheck.zookeeper.disk.remedies import LostRange, Remedy
from zabcheck.zookeeper.report.logs import MOST, name_of
from zabcheck.zookeeper.wire.zxids import shown_range


def render(disks: Sequence[DiskContents], remedies: Sequence[Remedy], check: str) -> RenderableType:
    """Render each action with the findings that it mends and what it loses, then the command that checks it."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    for each in remedies:
        table.add_row(", ".join(each.mends), Text(clean(f"{_action(disks, each)}; {_loss(disks, each)}")))
    label = padded(Text("then check"), 2 + max(len(", ".join(each.mends)) for each in remedies))
    then_check = unbroken(label + Text(clean(check, longest=LONGEST_PATH)))
    return Group(Text("what now", "bold"), table, then_check, "")


def _action(disks: Sequence[DiskContents], remedy: Remedy) -> str:
    servers = ", ".join(name_of(disks[at]) for at in remedy.servers)
    sources = ", ".join(name_of(disks[at]) for at in remedy.sources)
    file = Path(remedy.file).name
    match remedy.action:
        case "move":
            return f"stop {servers}, and move {file} out of its directory"
        case "rename":
            return f"stop {servers}, and rename {file} to log.{remedy.value:x}"
        case "buffer":
            return f"start {servers} with -Djute.maxbuffer={remedy.value} or more, as all other servers"
        case "elsewhere":
            return f"look for the dataLogDir of {servers}, and give it with --log-dir"
        case "sync":
            return (
                f"stop {servers}, rename its version-2 to version-2.old, and start again while {sources} run, which "
                "fill it again"
            )
        case "restore":
            return (
                f"stop all servers, keep a copy of each disk, rename version-2 of {servers} to version-2.old, start "
                f"{sources} first, and then the others, which it fills again"
            )
        case "compare":
            return f"give the disks of the other servers, too: if they are sound, {servers} can be emptied"
        case "cut":
            return f"keep a copy of the disk of {servers}, cut {file} at byte {remedy.value}, and move later logs away"
        case "backup":
            return (
                f"restore {servers} from a backup: nothing on the disks given here can fill the place of what is wrong"
            )


def _loss(disks: Sequence[DiskContents], remedy: Remedy) -> str:
    if remedy.action in ("compare", "backup"):
        return "what is lost is not known here"
    if not remedy.lost:
        return "nothing is lost"
    servers = 1 if remedy.action == "cut" else len(disks)
    conflict = "conflict" in remedy.mends
    few = [_lost_range(each, servers, conflict) for each in remedy.lost[:MOST]]
    more = [f"{len(remedy.lost) - MOST} more ranges"] if len(remedy.lost) > MOST else []
    said = f"lost are {', '.join([*few, *more])}"
    if conflict and len(remedy.servers) == 1:
        [kept], others = [name_of(disks[at]) for at in remedy.servers], [name_of(disks[at]) for at in remedy.sources]
        said += (
            f". As one zxid has two transactions, a server has lost what it had, by an older copy of its disk for "
            f"instance. If {kept} has what clients were told, empty {', '.join(others)} instead, and start {kept} first"
        )
    return said


def _lost_range(lost: LostRange, servers: int, conflict: bool) -> str:
    quorum = "maybe acknowledged" if conflict or 2 * lost.servers > servers else "no quorum of these has it"
    return f"{shown_range(lost.first, lost.last)} (on {lost.servers} of {servers}: {quorum})"


def as_json(disks: Sequence[DiskContents], remedies: Sequence[Remedy], check: str) -> list[dict[str, Any]]:
    """Return the JSON form of the actions."""
    return [
        {
            "action": each.action,
            "mends": each.mends,
            "servers": [_server(disks[at]) for at in each.servers],
            "sources": [_server(disks[at]) for at in each.sources],
            "file": each.file or None,
            "value": each.value or None,
            "lost": [
                {"first": Zxid.unpack(lost.first), "last": Zxid.unpack(lost.last), "servers": lost.servers}
                for lost in each.lost
            ],
            "check": check,
        }
        for each in remedies
    ]


def _server(disk: DiskContents) -> dict[str, Any]:
    return {"server": disk.number, "directory": as_text(disk.directory)}

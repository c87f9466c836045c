"""`zabcheck zookeeper logs`: shows the contents of the disks of ZooKeeper's servers, and what is wrong there."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from zabcheck.cli.commands import BadInput, Format, Formats, command_of
from zabcheck.cli.files import bad_input_for, bad_path
from zabcheck.cli.next_step import again
from zabcheck.cli.output import make_console, print_json, print_path
from zabcheck.cli.verdict import INCONCLUSIVE, OK, VIOLATED, conclude, named
from zabcheck.cli.zookeeper.command import zookeeper
from zabcheck.text.words import as_text, counted
from zabcheck.zookeeper.bugs.traces import traces
from zabcheck.zookeeper.disk.comparison import compare
from zabcheck.zookeeper.disk.contents import DiskContents, DiskError, holds_logs, scan, version_directory
from zabcheck.zookeeper.disk.remedies import remedies
from zabcheck.zookeeper.disk.transaction_log import LogRecord, read_log
from zabcheck.zookeeper.report import logs as zookeeper_logs
from zabcheck.zookeeper.report import remedies as what_now

DEEPEST = 3
"""Levels below the given directory at which data directories are looked for."""


@command_of(zookeeper)
def logs(
    directories: Annotated[
        list[Path],
        typer.Argument(metavar="DIR…", help="A server's data directory, or a directory with several of them below it."),
    ],
    log_dir: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Where the logs are (dataLogDir); repeat it, once for each DIR."),
    ] = None,
    txns: Annotated[bool, typer.Option("--txns", help="List every transaction, too.")] = False,
    digests: Annotated[
        bool,
        typer.Option(
            "--digests/--no-digests", help="Apply the transactions to the tree of nodes, and compare its digests."
        ),
    ] = True,
    format: Formats = Format.text,
) -> int:
    """Show what the logs and snapshots of servers hold, what is wrong there, and where servers differ."""
    disks = _scanned(directories, log_dir, digests)
    comparison = compare(disks) if len(disks) > 1 else None
    with bad_path("DIR", directories[0]):
        found_traces = traces(disks, comparison)
        wrong = zookeeper_logs.wrong_kinds(disks, comparison, found_traces)
        advised = remedies(disks, comparison, [(each.server, each.bug) for each in found_traces if each.wrong])
        without = [disk for disk in disks if disk.lacks_logs]
        unread = [as_text(path) for disk in disks for path in disk.unread]
        code = VIOLATED if wrong else INCONCLUSIVE if without or unread else OK
        if format is Format.json:
            fields = zookeeper_logs.as_json(disks, comparison, found_traces)
            for disk, shown in zip(disks, fields["servers"], strict=True) if txns else ():
                shown["txns"] = [zookeeper_logs.shown_txn(path, record) for path, record in records_of(disk)]
            print_json(
                "zookeeper logs", **fields, remedies=what_now.as_json(disks, advised, again(format=None, txns=None))
            )
            return code
        console = make_console()
        for disk in disks if txns else ():
            print_path(console, zookeeper_logs.name_of(disk), "bold")
            for path, record in records_of(disk):
                print_path(console, zookeeper_logs.line(path, record))
        console.print(zookeeper_logs.render(disks, comparison, found_traces), crop=False)
        if advised:
            console.print(what_now.render(disks, advised, again(txns=None)), crop=False)
    why = f"nothing is wrong on the disks of {counted(len(disks), 'server', 'servers')}"
    if wrong:
        servers = zookeeper_logs.wrong_servers(disks, comparison, found_traces)
        why = f"something is wrong on the disk of {named(servers)}: {named(wrong)}"
    elif without:
        names = named([zookeeper_logs.name_of(disk) for disk in without])
        why = f"{names} has snapshots and no log: if there is a dataLogDir, give it with --log-dir"
    elif unread:
        why = f"nothing is known of what was not read: {named(unread)}"
    return conclude(console, code, why, again(txns=True) if wrong and not txns else "")


def _scanned(directories: Sequence[Path], log_dir: Sequence[Path] | None, digests: bool) -> list[DiskContents]:
    """Read the disks of all servers. BadInput if one cannot be read, or --log-dir does not fit."""
    if log_dir and len(log_dir) != len(directories):
        raise BadInput(f"--log-dir: expected one for each of the {len(directories)} directories, found {len(log_dir)}")
    with bad_input_for(DiskError):
        if log_dir:
            return [scan(data, logs, digests=digests) for data, logs in zip(directories, log_dir, strict=True)]
        found = [each for directory in directories for each in servers_below(directory)]
        return [scan(data, logs, digests=digests) for data, logs in with_logs(found)]


def servers_below(directory: Path) -> Sequence[Path]:
    """Find the data directories: this one, or those below it, in the order of their names. DiskError if unreadable."""
    try:
        found = [*_search(directory, DEEPEST)]
    except OSError as error:
        raise DiskError(f"{error.filename or directory}: {error.strerror}") from None
    return found or [directory]  # reading it says what is wrong with it


def with_logs(directories: Sequence[Path]) -> list[tuple[Path, Path | None]]:
    """Put each dataLogDir with the dataDir beside it: only one has logs, only the other snapshots or epochs."""
    logs = [each for each in directories if holds_logs(each) == (True, False)]
    data = [each for each in directories if holds_logs(each) == (False, True)]
    paired = {}
    for each in data:
        beside = [other for other in logs if other.parent == each.parent]
        if len(beside) == 1 and sum(other.parent == each.parent for other in data) == 1:
            paired[each] = beside[0]
    return [(each, paired.get(each)) for each in directories if each not in paired.values()]


def _search(directory: Path, deepest: int) -> Iterator[Path]:
    if version_directory(directory) is not None:
        yield directory
    elif deepest and directory.is_dir():
        for each in sorted(directory.iterdir()):
            if each.is_dir() and not each.is_symlink():
                yield from _search(each, deepest - 1)


def records_of(disk: DiskContents) -> Iterator[tuple[Path, LogRecord]]:
    """Yield the whole records of a server's logs, with their files, read once more."""
    for log in disk.logs:
        for each in read_log(log.path):
            if isinstance(each, LogRecord):
                yield log.path, each

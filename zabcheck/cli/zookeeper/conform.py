"""`zabcheck zookeeper conform`: compares recordings with the model of their version."""

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer
from msgspec import structs
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from zabcheck.cli.commands import BadInput, Format, Formats, command_of
from zabcheck.cli.files import bad_input_for, writing
from zabcheck.cli.next_step import again, another
from zabcheck.cli.output import make_console, print_json, print_path
from zabcheck.cli.verdict import INCONCLUSIVE, OK, VIOLATED, conclude
from zabcheck.cli.zookeeper.command import zookeeper
from zabcheck.cli.zookeeper.recordings import Recordings, recordings_in
from zabcheck.counterexample.explain import explain_replay
from zabcheck.counterexample.forms.page import page as page_of
from zabcheck.invariants.diagnosis import like
from zabcheck.search.run import replay_on
from zabcheck.simulation import schedule as schedules
from zabcheck.simulation.schedule import Schedule
from zabcheck.text.files import write as write_file
from zabcheck.text.words import as_text, clean, counted
from zabcheck.zookeeper.conformance.conform import BrokenProperties, Conformance, Difference, broken_by, in_lines
from zabcheck.zookeeper.conformance.conform import conform as compare
from zabcheck.zookeeper.conformance.story import of_recording
from zabcheck.zookeeper.model import ZOOKEEPER
from zabcheck.zookeeper.model.switches import Release
from zabcheck.zookeeper.model.versions import VERSIONS
from zabcheck.zookeeper.recording.folder import RecordingError

SCHEDULE = "model.schedule.json"
"""The run of the model, beside the recording."""
MINIMAL = "minimal.schedule.json"
"""The shortest run that was found to break the same."""
MINIMAL_PAGE = "minimal.html"
"""The page of the run, to step through."""
BEFORE = "difference.schedule.json"
"""The run of the model up to where the recording differs from it."""
PAGE = "difference.html"
"""A page of that run, with what the servers did instead."""
_SECONDS = 10
"""CPU seconds for a first attempt to shorten a run that breaks a property."""


@command_of(zookeeper)
def conform(
    folders: Recordings,
    release: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Compare with this version of the model, not the recording's.")
    ] = None,
    write: Annotated[
        bool,
        typer.Option(
            "--write",
            help=f"Write the run of the model beside each recording, as {SCHEDULE}; where there is none, a page of the "
            f"difference, as {PAGE}.",
        ),
    ] = False,
    minimise: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0,
            help="Where the run of the model breaks a property, look this long for the shortest that does, and write "
            f"it as {MINIMAL}, with its page.",
        ),
    ] = 0,
    format: Formats = Format.text,
) -> int:
    """Say whether recordings of an ensemble are runs of the model: of the protocol zookeeper, in their version."""
    compared = [one_of(folder, release_named(release)) for above in folders for folder in recordings_in(above)]
    files: list[Path] = []
    broken: list[BrokenProperties | None] = []
    for each in compared:
        broken.append(None if each.schedule is None else broken_by(each.schedule, minimise))
        files += _saved(each, broken[-1], write)
    code, why = _outcome(compared, broken)
    if format is Format.json:
        print_json(
            "zookeeper conform",
            recordings=[as_json(each, found) for each, found in zip(compared, broken, strict=True)],
            files=[as_text(file) for file in files],
        )
        return code
    console = make_console()
    for number, (each, found) in enumerate(zip(compared, broken, strict=True)):
        if number:
            console.print()
        show(console, each, found)
    for file in files:
        print_path(console, f"wrote {file}")
    return conclude(console, code, why, _then(code, files, is_broken=any(broken)))


def _saved(of: Conformance, broken: BrokenProperties | None, write: bool) -> list[Path]:
    """Write what is asked for beside a recording, as far as it can be written."""
    files: list[Path] = []
    with writing("DIR", of.folder):
        if write and of.schedule is not None:
            files.append(write_file(of.folder / SCHEDULE, schedules.dump(of.schedule)))
        if write:
            files += save_difference(of, of.folder)
        if broken is not None and broken.minimal is not None:
            files += save_minimal(broken.minimal, broken.properties[0], of.folder)
    return files


def _then(code: int, files: Sequence[Path], *, is_broken: bool) -> str:
    """Name the next command to run."""
    if code == OK and not files:
        return again(minimise=_SECONDS) if is_broken else again(write=True)
    if code == OK:
        return another("replay", str(files[0]))
    if code == VIOLATED:
        page = next((file for file in files if file.name == PAGE), None)
        return again(write=True) if page is None else f"open {quote(str(page))}"
    return ""


def save_minimal(minimal: Schedule, property_: str, folder: Path) -> list[Path]:
    """Write the shortest run of the model that breaks the same as a recording's, and its page."""
    story = explain_replay(replay_on(ZOOKEEPER, minimal, [property_]), decisive=True)
    return [
        write_file(folder / MINIMAL, schedules.dump(minimal)),
        write_file(folder / MINIMAL_PAGE, page_of(story, MINIMAL).encode()),
    ]


def save_difference(of: Conformance, folder: Path) -> list[Path]:
    """Write the run of the model up to where a recording differs from it, and a page of that, if it does."""
    if of.before is None:
        return []
    page = page_of(of_recording(of)).encode()
    return [write_file(folder / BEFORE, schedules.dump(of.before)), write_file(folder / PAGE, page)]


def release_named(name: str | None) -> Release | None:
    """Return the release of the model that --release names. BadInput if there is none."""
    if name is None:
        return None
    for release in VERSIONS:
        if release == name:
            return release
    raise BadInput(f"--release: no `{name}`; {like(name, VERSIONS)}")


def one_of(folder: Path, release: Release | None) -> Conformance:
    """Compare one recording with the model. BadInput if it cannot be read."""
    with bad_input_for(RecordingError):
        return compare(folder, release)


def _outcome(compared: Sequence[Conformance], broken: Sequence[BrokenProperties | None]) -> tuple[int, str]:
    """Return the exit code, and why."""
    of = {verdict: [each for each in compared if each.verdict == verdict] for verdict in ("differs", "undecided")}
    number = counted(len(compared), "recording", "recordings")
    if of["differs"]:
        return VIOLATED, f"of {number} {len(of['differs'])} {_is(of['differs'])} no run of the model"
    if of["undecided"]:
        return INCONCLUSIVE, f"of {number} {len(of['undecided'])} {_is(of['undecided'])} left open"
    if len(compared) == 1:
        [only] = broken
        breaks = f", which breaks {_first_of(only.properties)}" if only is not None else ""
        return OK, f"{number}: a run of the model{breaks}"
    bad = sum(each is not None for each in broken)
    breaks = f", of which {bad} {'breaks' if bad == 1 else 'break'} a property" if bad else ""
    return OK, f"{number}: each a run of the model{breaks}"


def _first_of(properties: Sequence[str]) -> str:
    others = len(properties) - 1
    return properties[0] + (f", and {counted(others, 'other property', 'other properties')}" if others else "")


def _is(of: list[Conformance]) -> str:
    return "is" if len(of) == 1 else "are"


def show(console: Console, of: Conformance, broken: BrokenProperties | None) -> None:
    """Print what is said of one recording."""
    print_path(console, str(of.folder), style="bold")
    tried = f"{counted(of.packets, 'packet', 'packets')}, {counted(of.states, 'state', 'states')} tried"
    _line(console, f"ZooKeeper {of.zookeeper}, {tried}", 2)
    if of.schedule is not None:
        _line(console, f"a run of the model: {counted(len(of.schedule.choices), 'choice', 'choices')}", 2)
    if broken is not None:
        _line(console, f"it breaks {', '.join(broken.properties)}", 2)
    if broken is not None and broken.minimal is not None:
        shortest = counted(len(broken.minimal.choices), "choice", "choices")
        _line(console, f"the shortest that was found to break {broken.properties[0]}: {shortest}", 2)
    for line in in_lines(of):
        text = line.lstrip()
        _line(console, text, 2 + len(line) - len(text))


def _line(console: Console, text: str, indent: int) -> None:
    console.print(Padding(Text(clean(text, console.options.ascii_only, _LONGEST)), (0, 0, 0, indent), expand=False))


_LONGEST = 4000


def as_json(of: Conformance, broken: BrokenProperties | None) -> dict[str, object]:
    """Return what is said of one recording, as docs/output.md has it."""
    return {
        "folder": as_text(of.folder),
        "zookeeper": of.zookeeper,
        "verdict": of.verdict,
        "packets": of.packets,
        "states": of.states,
        "choices": None if of.schedule is None else len(of.schedule.choices),
        "broken": None if broken is None else broken.properties,
        "minimal": None if broken is None or broken.minimal is None else len(broken.minimal.choices),
        "differences": [_difference(each) for each in of.differences],
        "undecided": of.undecided,
    }


def _difference(of: Difference) -> dict[str, object]:
    """Return a difference, without its time, which is that of the machine."""
    return {name: value for name, value in structs.asdict(of).items() if name != "time"}

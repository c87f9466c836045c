"""Print results on standard output, as text or as JSON, and progress on standard error."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from threading import Event, Thread, current_thread, main_thread
from time import monotonic, process_time
from types import FrameType
from typing import Any, Literal

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from zabcheck.counterexample.forms.exports import TEXT_WIDTH
from zabcheck.protocols import step_limit
from zabcheck.text.pen import tame
from zabcheck.text.words import LONGEST_PATH, as_document, clean

OUTPUT_VERSION = 1
PATIENCE = 0.5
"""The CPU seconds for which Ctrl-C waits for a step of the protocol to return: a busy machine ends nothing.

The time counts, too, that is spent waiting for a node, which may compute or not."""
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that ask a command to end: Ctrl-C first."""
_TWICE = 1.0
"""Seconds within which a signal counts once: `timeout` sends it to the command, then to the group that has it."""
_came: dict[int, float] = {}
"""The time at which each signal came last."""


class Output(Struct, frozen=True):
    """The fields that every JSON result starts with; docs/output.md describes the others."""

    version: int
    command: str


def print_json(name: str, **fields: Any) -> None:
    """Print the result of the command `name` as one JSON document."""
    document = {**msgspec.to_builtins(Output(OUTPUT_VERSION, name)), **msgspec.to_builtins(fields)}
    # JSON is UTF-8, whatever the terminal's encoding is.
    sys.stdout.flush()
    sys.stdout.buffer.write(as_document(document))


def make_console(stderr: bool = False) -> Console:
    """Return standard output as a console, for a pipe as wide as a page; with NO_COLOR without any escape sequence."""
    width = get_terminal_size((TEXT_WIDTH, 25)).columns
    colors: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    return tame(Console(width=width, highlight=False, color_system=colors, stderr=stderr))


def print_path(console: Console, text: str, style: str = "") -> None:
    """Print a line without breaking it, so that it can be copied; a file's name is cleaned like any other text."""
    cleaned = clean(text, console.options.ascii_only, LONGEST_PATH)
    console.print(Text(cleaned, style), soft_wrap=True)


@contextmanager
def progress(total: int, what: str, units: str = "runs") -> Iterator[Callable[[str, int], None]]:
    """Show a bar on standard error, if that is a terminal; yield a function of a note and the number of units done."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,} of {task.total:,} {task.fields[units]}, {task.fields[note]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task(what, total=total, note="", units=units.removesuffix("s") if total == 1 else units)
        yield lambda note, done: bar.update(task, completed=done, note=note)


@contextmanager
def doing(what: str) -> Iterator[Callable[[str], None]]:
    """Show a line on standard error, if that is a terminal, that says what takes its time; yield what changes it."""
    with Console(stderr=True).status(what) as status:
        yield status.update


def end_as_by_ctrl_c() -> None:
    """Make SIGTERM and SIGHUP raise KeyboardInterrupt, too, unless whoever started this process has them ignored."""
    for number in ENDING[1:]:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _raise)


def _raise(number: int, frame: FrameType | None) -> None:
    if not _is_repeated(number):
        raise KeyboardInterrupt


def _is_repeated(number: int) -> bool:
    """Return True if this signal is the one that has just come; each Ctrl-C is one of its own."""
    before, _came[number] = _came.get(number, -_TWICE), monotonic()
    return number != signal.SIGINT and _came[number] - before < _TWICE


@contextmanager
def interrupts() -> Iterator[Callable[[], None]]:
    """Hold back the signals that end a command until the yielded function is called, which raises KeyboardInterrupt.

    A second one comes through at once.

    In the middle of a run Hypothesis may lose the exception, or think that the run behaves differently than before.
    A step of the protocol that does not return is interrupted all the same, after PATIENCE.
    """
    came, over, stuck = False, Event(), Event()

    def take_note(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if came and (stuck.is_set() or not _is_repeated(number)):
            stuck.clear()
            raise KeyboardInterrupt
        if not came:
            came = True
            _is_repeated(number)
            Thread(target=_interrupt_steps_that_do_not_return, args=(number, over, stuck), daemon=True).start()

    def look() -> None:
        if came:
            raise KeyboardInterrupt

    known = {number: signal.getsignal(number) for number in ENDING}
    ours = {number: handler for number, handler in known.items() if handler in (signal.default_int_handler, _raise)}
    if current_thread() is not main_thread() or not ours:
        yield look  # it is somebody else's business
        return
    for number in ours:
        signal.signal(number, take_note)
    try:
        yield look
    finally:
        over.set()
        for number, handler in ours.items():
            signal.signal(number, handler)


def _interrupt_steps_that_do_not_return(number: int, over: Event, stuck: Event) -> None:
    """Send the main thread this signal, until it is `over`, whenever it is `stuck`: in one step for PATIENCE."""
    main, calls = main_thread().ident, step_limit.calls
    assert main is not None
    begun, since, looks = calls.begun, process_time() + calls.idle, 0
    while not over.wait(PATIENCE / 5):
        now, looks = process_time() + calls.idle, looks + 1
        if calls.begun != begun or calls.begun == calls.over:
            begun, since = calls.begun, now
        elif now - since > PATIENCE:
            stuck.set()
            signal.pthread_kill(main, number)
            since = now  # once more after the same time, should the step have swallowed it
        if looks == 10 and sys.stderr.isatty():
            print("zabcheck: interrupted: this run still ends; Ctrl-C again ends at once", file=sys.stderr)

"""What commands have in common: their registration, usual options, exit codes, and the handling of bad input."""

import os
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import wraps
from pathlib import Path
from shlex import quote
from typing import Annotated, ParamSpec, cast

import typer

from invariants import TraceError
from zabcheck.counterexample.forms import terminal
from zabcheck.counterexample.forms.exports import TEXT_WIDTH
from zabcheck.counterexample.story import Story
from zabcheck.simulation.schedule import ScheduleError
from zabcheck.text.words import clean

OK, VIOLATED, BAD_INPUT, INCONCLUSIVE = range(4)


app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A property-based model checker for Zab and other primary order atomic broadcast protocols.",
)


class Format(StrEnum):
    """How results are printed."""

    text = "text"
    json = "json"


class BadInput(Exception):
    """The usage or an input is wrong; the message is one line."""


class ProtocolFailed(Exception):
    """The protocol's own code raised: bad input, too, but the message is a report."""

    def __init__(self, story: Story, schedule: Path, wrote: Sequence[Path] = ()) -> None:
        report = terminal.to_text(story, TEXT_WIDTH, file=quote(str(schedule)))
        super().__init__(report + "".join(f"wrote {file}\n" for file in wrote))


USAGE_ERROR = cast(type[typer.BadParameter], typer.BadParameter.__mro__[1])
"""The base class of typer's BadParameter, which is click's: recent versions of typer have a click of their own."""

Protocols = Annotated[str, typer.Option(help="Which protocol to check: see `zabcheck list`; or `module:Class`.")]
Properties = Annotated[
    list[str] | None,
    typer.Option("--property", metavar="P", help="Judge by this property, or group of them, only (may be repeated)."),
]
Formats = Annotated[Format, typer.Option("--format", help="How to print the result.")]
P = ParamSpec("P")


def command_of(group: typer.Typer) -> Callable[[Callable[P, int]], Callable[P, int]]:
    """Register a command that returns its exit code in a group of commands."""

    def register(function: Callable[P, int]) -> Callable[P, int]:
        @wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> int:
            # Typer has answers of its own to Ctrl-C and to a broken pipe, so they must not get that far.
            return guarded(lambda: function(*args, **kwargs))

        group.command(function.__name__.rstrip("_"))(wrapper)
        return wrapper

    return register


command = command_of(app)
"""Register a command that returns its exit code."""


def guarded(function: Callable[[], int]) -> int:
    """Call `function` and return the exit code; bad input becomes one line on standard error."""
    try:
        code = function()
        sys.stdout.flush()
        return code
    except USAGE_ERROR as error:
        return complain(" ".join(error.format_message().split()))
    except (BadInput, TraceError, ScheduleError) as error:
        return complain(str(error))
    except ProtocolFailed as error:
        print(error, end="", file=sys.stderr)
        return BAD_INPUT
    except (KeyboardInterrupt, typer.Abort):
        return complain("interrupted", INCONCLUSIVE)
    except (BrokenPipeError, SystemExit):
        # The reader of a pipe went away: nothing more can be said to it. (To exit is typer's answer to that.)
        discard_output()
        return INCONCLUSIVE
    except OSError as error:
        discard_output()
        return complain(f"standard output: {error.strerror}")


def complain(message: str, code: int = BAD_INPUT) -> int:
    """Print the message in one line on standard error, cleaned of what a file may have put into it; return `code`."""
    ascii_only = not (sys.stderr.encoding or "").lower().startswith("utf")
    print(f"zabcheck: {clean(message, ascii_only, terminal.LONGEST_PATH)}", file=sys.stderr)
    return code


def discard_output() -> None:
    """Drop what is still in the buffer of standard output: to write it would fail again when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""Shared by all commands: registration, usual options, and how a command ends without a result."""

import os
import re
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import wraps
from pathlib import Path
from shlex import quote
from traceback import format_exception, format_exception_only
from typing import Annotated, Any, ParamSpec, cast

import typer

import zabcheck.proof.monitors  # noqa: F401  # adds the properties `refinement` and `proof`
from zabcheck.cli import next_step
from zabcheck.cli.verdict import BAD_INPUT, INCONCLUSIVE, OK, conclude_on_standard_error
from zabcheck.counterexample.forms import terminal
from zabcheck.counterexample.forms.exports import TEXT_WIDTH
from zabcheck.counterexample.story import Story
from zabcheck.invariants import FURTHER, GROUPS, PROPERTIES, TraceError
from zabcheck.invariants.diagnosis import like
from zabcheck.protocols.adapter import imported
from zabcheck.search.engines import Engine
from zabcheck.search.run import DEFAULT_PROCESSES, MAX_PROCESSES, MAX_STEPS
from zabcheck.simulation.processes import in_the_middle_of
from zabcheck.simulation.schedule import ScheduleError
from zabcheck.text.nodes import NodeCommand, option_of
from zabcheck.text.words import LONGEST_PATH, as_text, clean

ISSUES = "https://github.com/zabcheck/zabcheck/issues"
"""The address at which an error of zabcheck is reported."""

STEPS = 200
"""The most steps of a run, about, unless --steps says more."""

NAMED_ONCE = ("protocol", "mutant", "exec")
"""The options that say what is checked."""


EXAMPLES = {
    "run": "zabcheck run --mutant commit-on-own-ack --seed 1",
    "explain": "zabcheck explain run.schedule.json --write run.html",
    "play": "zabcheck play run.schedule.json",
    "replay": "zabcheck replay run.schedule.json --trace run.jsonl",
    "list": "zabcheck list mutants",
    "scenario": "zabcheck scenario dsn-figure-3",
    "check": "zabcheck check --merge p1.jsonl p2.jsonl p3.jsonl",
    "explore": "zabcheck explore --processes 2 --epochs 1",
    "prove": "zabcheck prove --mutant stale-proposal-accepted --step f.3.2",
    "verify": "zabcheck verify reports/proof",
    "mutants": "zabcheck mutants --seeds 1",
    "gate": "zabcheck gate --junit gate.xml",
    "campaign": "zabcheck campaign --runs 100000 --mutant all --out reports/nightly",
    "campaign report": "zabcheck campaign report reports/nightly --html nightly.html",
    "zookeeper": "zabcheck zookeeper --runs 100 --keep",
    "zookeeper catalogue": "zabcheck zookeeper catalogue --bug 4643 --times 5",
    "zookeeper gate": "zabcheck zookeeper gate --classpath 'patched/lib/*' --budget 10m",
    "zookeeper judge": "zabcheck zookeeper judge reports",
    "zookeeper conform": "zabcheck zookeeper conform reports",
    "zookeeper logs": "zabcheck zookeeper logs /var/lib/zookeeper --txns",
    "zookeeper serverlog": "zabcheck zookeeper serverlog /var/log/zookeeper --out reports",
    "zookeeper scale": "zabcheck zookeeper scale plan.json --write safe.json",
    "zookeeper points": "zabcheck zookeeper points --classpath pyspark",
    "clients": "zabcheck clients check history.jsonl",
    "clients check": "zabcheck clients check history.jsonl --promise 'own writes'",
    "clients record": "zabcheck clients record --connect 127.0.0.1:2181",
    "clients proxy": "zabcheck clients proxy --listen 127.0.0.1:3181 --to 127.0.0.1:2181",
    "evaluate": "zabcheck evaluate --servers 3,5 --disk none",
    "db19": "zabcheck db19 --seed 1 --nodes 3 --rounds 1000 --proposals 5",
    "schema": "zabcheck schema trace",
}
"""The commands in the order in which one meets them, each with an example."""


def look_at(command: Any, ctx: Any, args: list[str], names: Sequence[str] | None) -> None:
    """Note the command line, which the next step is made of.

    BadInput if one of these options, or any for None, is given twice: typer would drop the first without a word.
    """
    values, _, given = command.make_parser(ctx).parse_args(args=list(args))
    next_step.remember(ctx.command_path, dict.fromkeys(given), values)
    for option in dict.fromkeys(given):
        once = (names is None or option.name in names) and not getattr(option, "multiple", False)
        if once and given.count(option) > 1:
            several = "; `zabcheck mutants` and `zabcheck campaign` take several" if option.name == "mutant" else ""
            raise BadInput(f"{option.opts[0]}: named more than once, expected at most once{several}")


_VALUES = {"<int>": "N", "<int range>": "N", "<float range>": "X", "<path>": "PATH", "<str>": "NAME"}
"""By what typer shows for a type: the word for a value in the help, where the option has none of its own."""


def describe(command: Any, ctx: Any, formatter: Any) -> None:
    """Write the help of the arguments, and of the options with a word for what each takes."""
    parameters = command.get_params(ctx)
    arguments = [(each.metavar, each.help) for each in parameters if each.param_type_name == "argument"]
    options = [each for each in parameters if each.param_type_name == "option"]
    for each in options:
        if each.metavar is None:
            each.metavar = _VALUES.get(each.display_type_rich(ctx=ctx))
    if arguments:
        with formatter.section("Arguments"):
            formatter.write_dl(arguments)
    with formatter.section("Options"):
        formatter.write_dl([each.get_help_record(ctx) for each in options if not each.hidden])


class Commands(typer.core.TyperGroup):
    """Commands, listed in the order of EXAMPLES. None of the group's own options is taken twice."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments. BadInput if an option is given twice that is taken once."""
        look_at(self, ctx, args, None)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the options, and what each command is for."""
        describe(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write what each command is for, whole: typer would cut it to a line."""
        commands = [(name, self.commands[name]) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(999)) for name, command in commands])

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands; one that has no example comes last."""
        order = [name.split()[-1] for name in EXAMPLES]
        return sorted(self.commands, key=lambda name: order.index(name) if name in order else len(order))


def example_of(name: str) -> str:
    """Return what the help of a command ends with."""
    return f"Example: {EXAMPLES[name]}"


class Command(typer.core.TyperCommand):
    """A command that refuses a second `--mutant` where it takes one: typer would drop the first without a word."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments. BadInput if what is checked is named twice."""
        look_at(self, ctx, args, NAMED_ONCE)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the arguments and options."""
        describe(self, ctx, formatter)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words that follow the command's name: its arguments, as they are described below."""
        return ["[OPTIONS]", *(str(each.metavar) for each in self.params if each.param_type_name == "argument")]


app = typer.Typer(
    cls=Commands,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A property-based model checker for Zab and other primary order atomic broadcast protocols.",
)


class Format(StrEnum):
    """The forms in which results are printed."""

    text = "text"
    json = "json"


class BadInput(Exception):
    """The usage or an input is wrong; the message is one line."""


unwritten: list[BadInput] = []
"""The parts of the result that the command which runs could not write: they are told once the result is printed."""


class ProtocolFailed(Exception):
    """The protocol's own code raised: bad input, too, but the message is a report.
    `schedule` is the file that shows it again; None if there is none, which `unwritten` may explain.
    """

    def __init__(self, story: Story, schedule: Path | None, wrote: Sequence[Path] = ()) -> None:
        assert story.raised is not None
        saved = "FILE" if schedule is None else quote(str(schedule))
        report = terminal.to_text(story, TEXT_WIDTH, file=saved)
        super().__init__(report + "".join(f"wrote {file}\n" for file in wrote))
        at = f"p{story.raised.process} handled {story.raised.stimulus}"
        self.why = f"the protocol's own code raised {story.raised.error} when {at}; no property was judged"
        self.then = "" if schedule is None else f"mend it, then zabcheck replay {saved}{option_of(story.protocol)}"


def protocols(incomplete: str) -> list[str]:
    """Return the protocols whose names begin so, for the completion of a shell."""
    from zabcheck.protocols import PROTOCOLS

    return [name for name in PROTOCOLS if name.startswith(incomplete)]


def named(protocol: str | None, command: str | None, default: str = "zab") -> str:
    """Return the name of the protocol that is meant by `--protocol`, or by the command of `--exec`.

    A class is imported. For nodes of Maelstrom the limits of the check go to standard error.
    BadInput if both are given, if there is no such protocol, or if the command does not start a node.
    """
    if command is None:
        if protocol is None:
            return default
        look_here()
        try:
            imported(protocol)
        except ValueError as error:
            raise BadInput(str(error)) from None
        return protocol
    if protocol is not None:
        raise BadInput("--exec: expected no --protocol, the nodes of the command are the protocol")
    from zabcheck.protocols.external.protocol import external

    try:
        found = external(command).name
    except ValueError as error:
        raise BadInput(f"--exec: {error}") from None
    if NodeCommand(command).is_of_maelstrom:
        typer.echo(
            "nodes of Maelstrom keep their own time: nobody checks whether they do the same each time, and a run "
            "may not be repeated exactly",
            err=True,
        )
    return found


def look_here() -> None:
    """Find modules in the current folder, too, after all others: a protocol of the user's, like a test for pytest.

    Only for a protocol that the user has named: who checks a file has not asked to run what lies beside it.
    """
    if "" not in sys.path:
        sys.path.append("")


def known_bugs(incomplete: str) -> list[str]:
    """Return the mutants whose names begin so, for the completion of a shell."""
    from zabcheck.mutants.catalogue import CATALOGUE

    return [name for name in CATALOGUE if name.startswith(incomplete)]


def switches(incomplete: str) -> list[str]:
    """Return the settings of switches that begin so, as in `sync=atomic`, for the completion of a shell."""
    from zabcheck.protocols.switch_settings import all_settings

    return [setting for setting in all_settings() if setting.startswith(incomplete)]


def scenarios(incomplete: str) -> list[str]:
    """Return the scenarios whose names begin so, for the completion of a shell."""
    from zabcheck.papers.scenarios import SCENARIOS

    return [name for name in SCENARIOS if name.startswith(incomplete)]


def lessons(incomplete: str) -> list[str]:
    """Return the lessons whose names begin so, for the completion of a shell."""
    from zabcheck.papers.lessons import LESSONS

    return [name for name in LESSONS if name.startswith(incomplete)]


def properties(incomplete: str) -> list[str]:
    """Return the properties and groups whose names begin so, with hyphens: a shell would break them at spaces."""
    return [
        each for name in (*PROPERTIES, *FURTHER, *GROUPS) if (each := name.replace(" ", "-")).startswith(incomplete)
    ]


USAGE_ERROR = cast(type[typer.BadParameter], typer.BadParameter.__mro__[1])
"""The base class of typer's BadParameter, which is click's: recent versions of typer have a click of their own."""

# The options that several commands have. A default, and what it means, is the command's own.

Protocols = Annotated[
    str | None,
    typer.Option(
        autocompletion=protocols, help="The protocol: see `zabcheck list protocols`; or `module:Class`. Default: zab."
    ),
]
ProtocolOfFile = Annotated[
    str | None,
    typer.Option(
        "--protocol",
        autocompletion=protocols,
        help="Execute the schedule with this protocol instead of the one that it names; a class, `module:Class`, is "
        "imported only if it is named here.",
    ),
]
Exec = Annotated[
    str | None,
    typer.Option(
        "--exec",
        metavar="COMMAND",
        help="Check the nodes that this command starts, in any language; those of Maelstrom as maelstrom:COMMAND "
        "(docs/any-language.md).",
    ),
]
Mutants = Annotated[
    str | None,
    typer.Option("--mutant", metavar="M", autocompletion=known_bugs, help="Plant this known bug; see `zabcheck list`."),
]
Properties = Annotated[
    list[str] | None,
    typer.Option(
        "--property",
        metavar="P",
        autocompletion=properties,
        help="Judge by this property, or group of them, only (may be repeated).",
    ),
]
Engines = Annotated[Engine, typer.Option("--engine", help="Which engine chooses the moves of each run.")]
Processes = Annotated[
    int | None,
    typer.Option(
        "--processes",
        metavar="N",
        min=1,
        max=MAX_PROCESSES,
        help=f"The number of processes. By default each run of the swarm draws its own; Hypothesis takes "
        f"{DEFAULT_PROCESSES}.",
    ),
]
Steps = Annotated[
    int | None,
    typer.Option(
        "--steps",
        metavar="N",
        min=1,
        max=MAX_STEPS,
        help=f"About how many steps a run may have; by default {STEPS}. With `--switch elections=fle` twice as many.",
    ),
]
Quorums = Annotated[
    str | None,
    typer.Option(
        "--quorums",
        metavar="Q",
        help="`majority`, `weights 3,1,1`, `sets 1+2,2+3,1+3` or `config 1,2,3`. By default each run of the swarm "
        "draws one of the first two; any other search takes the first.",
    ),
]
FixedQuorums = Annotated[
    str | None,
    typer.Option(
        "--quorums",
        metavar="Q",
        help="`majority`, `weights 3,1,1`, `sets 1+2,2+3,1+3` or `config 1,2,3`. By default majorities; of a protocol "
        "whose configuration changes, one of all processes.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--switch",
        metavar="NAME=VALUE",
        autocompletion=switches,
        help="Fix a switch, which each run would draw otherwise (may be repeated); see `zabcheck list switches`.",
    ),
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

        name = function.__name__.rstrip("_")
        above = "" if group.info.name is None or not isinstance(group.info.name, str) else f"{group.info.name} "
        group.command(name, cls=Command, epilog=example_of(above + name))(wrapper)
        return wrapper

    return register


command = command_of(app)
"""Register a command that returns its exit code."""


def guarded(function: Callable[[], int]) -> int:
    """Call `function` and return the exit code; bad input becomes one line on standard error.

    Any other error ends with the code of bad input, too: 1 would say that a property is violated. So does what could
    not be written, which is told last.
    """
    return tell_unwritten(_exit_code(function))


def _exit_code(function: Callable[[], int]) -> int:
    try:
        code = function()
        sys.stdout.flush()
        return code
    except USAGE_ERROR as error:
        return complain(in_our_words(" ".join(error.format_message().split())))
    except (BadInput, TraceError, ScheduleError) as error:
        return complain(str(error))
    except ProtocolFailed as error:
        print(error, file=sys.stderr)
        tell_unwritten()
        return conclude_on_standard_error(BAD_INPUT, error.why, error.then)
    except (KeyboardInterrupt, typer.Abort) as interrupt:
        why = f"interrupted, before there was anything to tell{in_the_middle_of(interrupt)}"
        return conclude_on_standard_error(INCONCLUSIVE, why)
    except SystemExit as error:
        if error.code:  # typer's answer to a broken pipe
            discard_output()
            return INCONCLUSIVE
        sys.stdout.flush()  # a shell was told what completes a line
        return OK
    except BrokenPipeError:
        # The reader of a pipe went away: nothing more can be said to it.
        discard_output()
        return INCONCLUSIVE
    except OSError as error:
        if error.filename is not None:
            return complain(f"{as_text(error.filename)}: {error.strerror}")
        discard_output()
        return complain(f"standard output: {error.strerror}")
    except Exception as error:
        return unforeseen(error)


def tell_unwritten(code: int = BAD_INPUT) -> int:
    """Report on standard error each file that could not be written; return the exit code: `code` if there is none."""
    while unwritten:
        code = complain(str(unwritten.pop(0)))
    return code


def unforeseen(error: Exception) -> int:
    """Report an error that no command expects, with its traceback on standard error; return the exit code."""
    for line in "".join(format_exception(error)).splitlines():
        print(clean(line, ascii_only=True), file=sys.stderr)
    if isinstance(error, MemoryError):
        return conclude_on_standard_error(BAD_INPUT, "out of memory; nothing was judged", "the same with more memory")
    why = f"zabcheck itself has an error, nothing was judged: {''.join(format_exception_only(error)).strip()}"
    return conclude_on_standard_error(BAD_INPUT, why, f"report it, with what is above: {ISSUES}")


_NO_CHOICE = re.compile(r"(.*): (?:Value error, )?'(.*)' is not one of (.*?)\.?")
_QUOTED = re.compile(r"'(.*?)'")
_NO_NUMBER = re.compile(r"(.*): Input should be (?:a valid \w+, .* as an? (\w+)|(.*))")


def in_our_words(message: str) -> str:
    """Return what typer says of a wrong value without the words of the library that typer checks values with.

    >>> in_our_words("Invalid value for '--engine': Value error, 'swrm' is not one of 'hypothesis', 'swarm'.")
    "Invalid value for '--engine': no `swrm`; did you mean `swarm`?"
    >>> in_our_words("Invalid value for '--runs': Input should be greater than or equal to 1")
    "Invalid value for '--runs': expected a number greater than or equal to 1"
    """
    if choice := _NO_CHOICE.fullmatch(message):
        return f"{choice[1]}: no `{choice[2]}`; {like(choice[2], _QUOTED.findall(choice[3]))}"
    if number := _NO_NUMBER.fullmatch(message):
        kind = "a whole number" if number[2] == "integer" else "a number"
        return f"{number[1]}: expected {kind}" + (f" {number[3]}" if number[3] else "")
    return message


def complain(message: str) -> int:
    """Print the message in one clean line on standard error, whatever a file may have put into it; return BAD_INPUT."""
    ascii_only = not (sys.stderr.encoding or "").lower().startswith("utf")
    print(f"zabcheck: {clean(message, ascii_only, LONGEST_PATH)}", file=sys.stderr)
    return BAD_INPUT


def discard_output() -> None:
    """Drop what is still in the buffer of standard output: to write it would fail again when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

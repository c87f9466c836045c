"""The configuration of a gate: the table `[tool.zabcheck]` of a pyproject.toml; `SAMPLE` is one."""

import errno
import tomllib
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from zabcheck.invariants import select
from zabcheck.invariants.diagnosis import like
from zabcheck.mutants.catalogue import CATALOGUE, bug_of, bugs_of
from zabcheck.mutants.mutant import Mutant
from zabcheck.protocols import PROTOCOLS
from zabcheck.protocols.adapter import imported
from zabcheck.protocols.base import Protocol
from zabcheck.search.engines import DEFAULT, Engine
from zabcheck.search.goals import GOALS
from zabcheck.search.run import MAX_PROCESSES, MAX_STEPS
from zabcheck.text.nodes import command_of
from zabcheck.text.words import cut

SAMPLE = """\
[tool.zabcheck]
protocols = ["zab"]         # "module:Class" for a class of your own, "exec:./node" for a program
seeds = [1, 2]
runs = 2000
goals = ["three epochs"]
kills = ["no-truncation"]   # known bugs that have to be found, or a "module:Class" of your own that has one
time-limit = 600            # seconds
"""
"""A configuration that passes, to begin with."""
ALL = "all"
MOST_BYTES = 1 << 24
"""The longest configuration that is read."""
MAX_RUNS = 2**31 - 1
_LONGEST = 60
"""The most characters of a text that a message repeats."""

_Seed = Annotated[int, Meta(ge=0)]
_Folder = Annotated[str, Meta(min_length=1, pattern=r"\A[^\x00]*\Z")]
_EXPECTED = {
    "protocols": f"a list of at least one of: {', '.join(PROTOCOLS)}; or `module:Class`",
    "engine": f"one of: {', '.join(Engine)}",
    "seeds": "a list of at least one whole number of 0 or more",
    "runs": f"a whole number from 1 to {MAX_RUNS}",
    "steps": f"a whole number from 1 to {MAX_STEPS}",
    "processes": f"a whole number from 1 to {MAX_PROCESSES}",
    "properties": "a list of at least one name of a property or group",
    "goals": f"a list of names of goals, or of {ALL}",
    "kills": f"a list of names of mutants, of {ALL}, or of `module:Class`",
    "time-limit": "a number of seconds above 0",
    "out": "the name of a folder",
}


class ConfigurationError(ValueError):
    """A configuration cannot be used. The message is one line: file, key, what was expected."""


class NoConfiguration(ConfigurationError):
    """There is no configuration: no such file, or none with the table."""


class Configuration(Struct, frozen=True, forbid_unknown_fields=True, rename=lambda name: name.replace("_", "-")):
    """The keys of the table; all but `protocols` may be left out.

    Each of `protocols` is searched with each of `seeds`, in `runs` runs of at most about `steps` steps. `processes` is
    the number of processes (by default the swarm draws it, and Hypothesis takes 3). `properties` (names or groups) are
    judged, by default all that the protocol is judged by. The runs of each protocol have to exercise every property and
    reach each of `goals`. Each of `kills`, which are mutants, or classes of the user's that have a bug, has to be found
    with the first of the seeds. "all" stands for all goals, or for all mutants of the protocols. `time-limit` is in
    seconds by the clock, for everything together. Counterexamples are written to the folder `out`.
    """

    protocols: Annotated[tuple[str, ...], Meta(min_length=1)]
    engine: Engine = DEFAULT
    seeds: Annotated[tuple[_Seed, ...], Meta(min_length=1)] = (1,)
    runs: Annotated[int, Meta(ge=1, le=MAX_RUNS)] = 2000
    steps: Annotated[int, Meta(ge=1, le=MAX_STEPS)] = 200
    processes: Annotated[int, Meta(ge=1, le=MAX_PROCESSES)] | None = None
    properties: Annotated[tuple[str, ...], Meta(min_length=1)] | None = None
    goals: tuple[str, ...] = ()
    kills: tuple[str, ...] = ()
    time_limit: Annotated[float, Meta(gt=0)] = 600.0
    out: _Folder = "reports"


def load(path: Path) -> Configuration:
    """Read the configuration in a pyproject.toml. ConfigurationError if there is none, or it cannot be used."""
    try:
        document = tomllib.loads(_text(path))
    except IsADirectoryError:
        raise ConfigurationError(f"{path}: expected a file, found a directory") from None
    except FileNotFoundError as error:
        raise NoConfiguration(f"{path}: {error.strerror}") from None
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: expected UTF-8") from None
    except RecursionError:
        raise ConfigurationError(f"{path}: expected TOML, nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: expected TOML, {error}") from None
    except ValueError:  # Python converts no number of thousands of digits
        raise ConfigurationError(f"{path}: expected TOML, found a number with too many digits") from None
    tool = document.get("tool")
    table = tool.get("zabcheck") if isinstance(tool, dict) else None
    if not isinstance(table, dict):
        raise NoConfiguration(f"{path}: expected a table [tool.zabcheck]")
    try:
        return _converted(table)
    except _Wrong as wrong:
        key = "" if wrong.key is None else f", key `{wrong.key}`"
        raise ConfigurationError(f"{path}, [tool.zabcheck]{key}: {wrong}") from None


def _text(path: Path) -> str:
    """Return the text of the file, which may be a pipe. OSError if it cannot be read, or is too long."""
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise OSError(errno.EFBIG, f"expected at most {MOST_BYTES:,} bytes")
    return data.decode()


class _Wrong(Exception):
    """Something in the table is wrong; `key` says where, if it is one of the keys."""

    def __init__(self, key: str | None, message: str) -> None:
        super().__init__(message)
        self.key = key


def _converted(table: dict[str, Any]) -> Configuration:
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(Configuration)}
    for key in table:
        if key not in fields:
            raise _Wrong(None, f"no key `{key}`; {like(key, fields)}")
    for key, kind in fields.items():
        if key not in table:
            continue
        found = table[key]
        if not _fits(found, kind):
            wrong = [item for item in found if not _fits([item], kind)] if isinstance(found, list) else []
            message = f"{_shown(wrong[0])} in it" if wrong else _shown(found)
            raise _Wrong(key, f"expected {_EXPECTED[key]}, found {message}")
    if "protocols" not in table:
        raise _Wrong("protocols", f"expected {_EXPECTED['protocols']}, found no such key")
    configuration = msgspec.convert(table, Configuration)
    for key, check in (
        ("protocols", lambda: protocols_of(configuration)),
        ("properties", lambda: select(configuration.properties)),
        ("goals", lambda: goals_of(configuration)),
        ("kills", lambda: kills_of(configuration)),
    ):
        try:
            check()
        except ValueError as error:
            raise _Wrong(key, str(error)) from None
    return configuration


def _fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _shown(value: Any) -> str:
    """Return a TOML value as messages show it."""
    match value:
        case bool():
            return str(value).lower()
        case int() if abs(value) >= 2**63:
            return "a number that is too large"
        case str():
            return f'"{cut(value, _LONGEST)}"'
        case list():
            return "a list" if value else "an empty list"
        case dict():
            return "a table"
        case _:
            return str(value)


def protocols_of(configuration: Configuration) -> list[Protocol]:
    """Return the protocols that are checked. ValueError for an unknown one, or a command that starts no node.

    A configuration, unlike a schedule, starts the commands and imports the modules that it names: it belongs to what is
    checked.
    """
    commands = [command for name in configuration.protocols if (command := command_of(name)) is not None]
    if commands:
        from zabcheck.protocols.external.protocol import external

        for command in commands:
            external(command.text)
    return [imported(name) for name in configuration.protocols]


def goals_of(configuration: Configuration) -> list[str]:
    """Return the goals that are demanded. ValueError for an unknown goal."""
    for name in configuration.goals:
        if name not in (*GOALS, ALL):
            known = f"expected {ALL}, or some of: {', '.join(GOALS)}"
            raise ValueError(f"no goal `{name}`; {like(name, (*GOALS, ALL), known)}")
    return [name for name in GOALS if name in configuration.goals or ALL in configuration.goals]


def kills_of(configuration: Configuration) -> list[Mutant]:
    """Return the mutants that have to be found, each "module:Class" among them as a mutant of itself.

    ValueError for an unknown mutant, one of another protocol, or a class that does not exist.
    """
    bugs = [each for protocol in protocols_of(configuration) for each in bugs_of(protocol).values()]
    bugs.sort(key=lambda each: list(CATALOGUE).index(each.name) if each.name in CATALOGUE else len(CATALOGUE))
    known = [each.name for each in bugs]
    classes = [name for name in configuration.kills if ":" in name and command_of(name) is None]
    for name in configuration.kills:
        if name not in (*known, *classes, ALL):
            protocols = ", ".join(configuration.protocols)
            expected = f"expected {ALL}, or some of: {', '.join(known)}" if known else "there are none"
            raise ValueError(f"no mutant `{name}` of {protocols}; {like(name, (*known, ALL), expected)}")
    named = [each for each in bugs if each.name in configuration.kills or ALL in configuration.kills]
    return named + [bug_of(imported(name)) for name in dict.fromkeys(classes)]

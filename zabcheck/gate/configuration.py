"""What a gate demands: the table `[tool.zabcheck]` of a pyproject.toml.

[tool.zabcheck]
protocols = ["zab", "mylib.protocol:Mine"]
seeds = [1, 2]
runs = 2000
goals = ["three epochs", "truncation"]
kills = ["no-truncation"]
time-limit = 600
"""

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from invariants import select
from zabcheck.mutants.catalogue import CATALOGUE, mutated
from zabcheck.search.engines import Engine
from zabcheck.search.goals import GOALS
from zabcheck.search.run import MAX_STEPS

ALL = "all"
MAX_PROCESSES = 99

_Positive = Annotated[int, Meta(ge=1, le=2**31 - 1)]
_Seed = Annotated[int, Meta(ge=0)]
_PATH = re.compile(r" - at `\$\.?(.*)`$")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)


class ConfigurationError(ValueError):
    """A configuration that cannot be used. The message is one line: file, key, what was expected."""


class Configuration(Struct, frozen=True, forbid_unknown_fields=True, rename=lambda name: name.replace("_", "-")):
    """The keys of the table; all but `protocols` may be left out.

    `protocols` are searched, each with each of `seeds`, in `runs` runs of at most about `steps` steps, with so many
    `processes` (left out: the swarm draws, Hypothesis takes 3), judged by `properties` (names or groups; left out: all
    that the protocol is judged by). Every property has to be exercised, and each of `goals` reached, in the runs of
    each protocol. Each of `kills`, which are mutants, has to be found with the first of the seeds. "all" stands for
    all goals, or all mutants of the protocols. `time-limit` is in seconds by the clock, for everything together.
    Counterexamples are written to `out`.
    """

    protocols: Annotated[tuple[str, ...], Meta(min_length=1)]
    engine: Engine = Engine.swarm
    seeds: Annotated[tuple[_Seed, ...], Meta(min_length=1)] = (1,)
    runs: _Positive = 2000
    steps: Annotated[int, Meta(ge=1, le=MAX_STEPS)] = 200
    processes: Annotated[int, Meta(ge=1, le=MAX_PROCESSES)] | None = None
    properties: Annotated[tuple[str, ...], Meta(min_length=1)] | None = None
    goals: tuple[str, ...] = ()
    kills: tuple[str, ...] = ()
    time_limit: Annotated[float, Meta(gt=0)] = 600.0
    out: str = "reports"


def load(path: Path) -> Configuration:
    """The configuration in a pyproject.toml. ConfigurationError if it has none, or one that is not possible."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: expected UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigurationError(f"{path}: expected TOML, {error}") from None
    tool = document.get("tool")
    table = tool.get("zabcheck") if isinstance(tool, dict) else None
    if not isinstance(table, dict):
        raise ConfigurationError(f"{path}: expected a table [tool.zabcheck]")
    return _converted(table, path)


def _converted(table: dict[str, Any], path: Path) -> Configuration:
    keys = [field.encode_name for field in msgspec.structs.fields(Configuration)]
    try:
        found = msgspec.convert(table, Configuration)
    except msgspec.ValidationError as error:
        message = str(error)
        where = _PATH.search(message)
        said = _PATH.sub("", message)
        unknown = _UNKNOWN.fullmatch(said)
        if unknown is not None:
            raise ConfigurationError(
                f"{path}, [tool.zabcheck]: no key `{unknown[1]}`; expected one of: {', '.join(keys)}"
            ) from None
        key = f", key `{where[1]}`" if where is not None else ""
        raise ConfigurationError(f"{path}, [tool.zabcheck]{key}: {said}") from None
    for key, check in (
        ("protocols", lambda: [mutated(name) for name in found.protocols]),
        ("properties", lambda: select(found.properties)),
        ("goals", lambda: goals_of(found)),
        ("kills", lambda: kills_of(found)),
    ):
        try:
            check()
        except ValueError as error:
            raise ConfigurationError(f"{path}, [tool.zabcheck], key `{key}`: {error}") from None
    return found


def goals_of(configuration: Configuration) -> list[str]:
    """The goals that are demanded. ValueError for one that there is not."""
    for name in configuration.goals:
        if name not in (*GOALS, ALL):
            raise ValueError(f"no goal `{name}`; expected {ALL}, or some of: {', '.join(GOALS)}")
    return [name for name in GOALS if name in configuration.goals or ALL in configuration.goals]


def kills_of(configuration: Configuration) -> list[str]:
    """The mutants that have to be found. ValueError for one that there is not, or not of these protocols."""
    known = [name for name, mutant in CATALOGUE.items() if mutant.protocol in configuration.protocols]
    for name in configuration.kills:
        if name not in (*known, ALL):
            protocols = ", ".join(configuration.protocols)
            raise ValueError(f"no mutant `{name}` of {protocols}; expected {ALL}, or some of: {', '.join(known)}")
    return [name for name in known if name in configuration.kills or ALL in configuration.kills]

"""Each property has all that CONTRIBUTING asks of one; what is missing is said, with the file that it belongs in."""

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

import invariants
from invariants import EXPLAINING_FIRST, GROUPS, OF_CHANGES, OF_OTHERS, PROPERTIES, Event, Integrity, Invariant
from tests.counterexample.test_witness_graph import CASES
from tests.invariants.builders import judge
from tests.invariants.by_property import LITERAL, MODULES, OWN_TRACES, Literal
from tests.invariants.oracle import Reading
from zabcheck.counterexample.explanation.sentences import EXPLAINED
from zabcheck.mutants.catalogue import CATALOGUE

NOT_BROKEN_BY_A_RUN = ("clock", *GROUPS["clients"])
"""The properties that no simulated run can break: its events are in the order of time, and it has no clients."""


def missing(kind: type[Invariant]) -> Iterator[str]:
    """Say what a property lacks, each as a sentence."""
    name = kind.name
    file = f"tests/invariants/test_{name.replace(' ', '_')}.py"
    if PROPERTIES.get(name) is not kind:
        yield "it is not in `PROPERTIES`: see invariants/__init__.py"
    if name not in EXPLAINING_FIRST:
        yield "it is not in `EXPLAINING_FIRST`: see invariants/__init__.py"
    if getattr(invariants, kind.__name__, None) is not kind or kind.__name__ not in invariants.__all__:
        yield f"`{kind.__name__}` is not in `__all__` of invariants/__init__.py"
    if "looks_at" not in _declared(kind):
        yield f"`{kind.__name__}` does not say which events it looks at: set `looks_at`"
    explained = EXPLAINED.get(name)
    if explained is None or explained.property is not kind:
        yield (
            f"it has no explanation and no edge: write a function with `@explains({kind.__name__}, edges=…)` in "
            "zabcheck/counterexample/explanation/"
        )
    if not any(case[0] == name for case in CASES) and name != "clock":
        yield f"no trace shows which edge breaks it: give {file} a list `EDGES`"
    if name not in LITERAL:
        yield f"it has no brute-force reading: give {file} a function `literal`"
    module = MODULES.get(name)
    if module is None:
        yield f"it has no tests: write {file} with `NAME = {name!r}`"
    else:
        if not _calls(module, "witness"):
            yield f"no test of {file} compares the `witness` of a bad trace"
        if not _says(module, "holds"):
            yield f"no test of {file} has a trace for which it `holds`"
    if name not in NOT_BROKEN_BY_A_RUN and not any(name in mutant.breaks for mutant in CATALOGUE.values()):
        yield "no mutant breaks it: name it in `breaks` of one in zabcheck/mutants/catalogue.py"


def _declared(kind: type[Invariant]) -> set[str]:
    """The attributes that the class or a base of it sets, other than the base of all."""
    return {name for each in kind.__mro__ if each not in Invariant.__mro__ for name in vars(each)}


def _calls(module: ModuleType, function: str) -> bool:
    """Return True if an assertion of the module compares what this function returns."""
    compared = (part for node in _nodes(module) if isinstance(node, ast.Compare) for part in ast.walk(node.left))
    return any(isinstance(each, ast.Call) and getattr(each.func, "id", None) == function for each in compared)


def _says(module: ModuleType, value: str) -> bool:
    return any(isinstance(node, ast.Constant) and node.value == value for node in _nodes(module))


def _nodes(module: ModuleType) -> Iterator[ast.AST]:
    assert module.__file__ is not None
    return ast.walk(ast.parse(Path(module.__file__).read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_property_has_all_that_it_needs(name: str) -> None:
    assert list(missing(PROPERTIES[name])) == []


def compared(name: str, literal: Literal, trace: Callable[[Random], list[Event]], traces: int = 500) -> Counter[str]:
    """Judge so many random traces by a property, see to it that its literal reading agrees, and count the verdicts."""
    statuses: Counter[str] = Counter()
    for seed in range(traces):
        events = trace(Random(seed))
        verdict = judge(name, events)
        found = verdict.status, None if verdict.violation is None else verdict.violation.witness
        assert found == literal(Reading(events, "per-process")), f"{name}, seed {seed}"
        statuses[verdict.status] += 1
    return statuses


def test_a_property_with_random_traces_of_its_own_agrees_with_its_literal_reading_on_them() -> None:
    for name, trace in OWN_TRACES.items():
        statuses = compared(name, LITERAL[name], trace)
        assert all(statuses[each] >= 25 for each in ("holds", "violated", "not exercised")), name


def test_a_wrong_literal_reading_is_noticed() -> None:
    own = OWN_TRACES["epoch uniqueness"]
    assert set(compared("epoch uniqueness", LITERAL["epoch uniqueness"], own)) == {
        "holds",
        "violated",
        "not exercised",
    }
    with pytest.raises(AssertionError, match="epoch uniqueness, seed "):
        compared("epoch uniqueness", lambda _: ("holds", None), own)


def test_nothing_has_a_part_of_a_property_that_there_is_not() -> None:
    """A misspelt name, or what a property left behind that is gone."""
    known, further = set(PROPERTIES), {kind.name for kind in (*OF_CHANGES, *OF_OTHERS)}
    assert set(MODULES) == known
    assert sorted(EXPLAINING_FIRST) == sorted(known)
    assert set(EXPLAINED) == known | further
    assert set(LITERAL) == known
    assert {case[0] for case in CASES} <= known
    assert {name for mutant in CATALOGUE.values() for name in mutant.breaks} <= known | further


def test_what_a_new_property_lacks_is_said() -> None:
    class Fresh(Invariant):
        name = "fresh news"

    assert list(missing(Fresh)) == [
        "it is not in `PROPERTIES`: see invariants/__init__.py",
        "it is not in `EXPLAINING_FIRST`: see invariants/__init__.py",
        "`Fresh` is not in `__all__` of invariants/__init__.py",
        "`Fresh` does not say which events it looks at: set `looks_at`",
        "it has no explanation and no edge: write a function with `@explains(Fresh, edges=…)` in "
        "zabcheck/counterexample/explanation/",
        "no trace shows which edge breaks it: give tests/invariants/test_fresh_news.py a list `EDGES`",
        "it has no brute-force reading: give tests/invariants/test_fresh_news.py a function `literal`",
        "it has no tests: write tests/invariants/test_fresh_news.py with `NAME = 'fresh news'`",
        "no mutant breaks it: name it in `breaks` of one in zabcheck/mutants/catalogue.py",
    ]


def test_a_property_of_the_same_name_does_not_pass_for_it() -> None:
    class Another(Integrity):
        pass

    assert [each.split(":")[0] for each in missing(Another)] == [
        "it is not in `PROPERTIES`",
        "`Another` is not in `__all__` of invariants/__init__.py",
        "it has no explanation and no edge",
    ]

"""docs/your-own-protocol.md and docs/view-changes.md: their code runs, and what they show is what pytest prints."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

import zabcheck
from docs.generators.own_protocol import CODE, OUTPUT, PAGE, VIEW_CHANGES, printed, write_code
from invariants import select
from tests.tiers import sweep
from zabcheck.protocols import own
from zabcheck.protocols.adapter import PROPERTIES, register
from zabcheck.protocols.base import Protocol
from zabcheck.search.engines import Engine
from zabcheck.search.engines import find as find_by
from zabcheck.search.machine import find
from zabcheck.search.run import PropertyBroken, Search
from zabcheck.search.tally import Tally


@pytest.mark.slow
def test_another_seed_finds_what_the_page_says(tmp_path: Path) -> None:
    write_code(tmp_path)
    assert "zxid uniqueness is violated" in printed(tmp_path, "--hypothesis-seed=1", "test_careful.py")


NAMES = ("naive:Naive", "careful:Careful")


@pytest.mark.parametrize(
    ("name", "seeds"),
    sweep(
        [(name, seeds) for name in NAMES for seeds in (range(2), range(2, 4))],
        normal=[(name, range(2)) for name in NAMES],
    ),
)
def test_with_every_seed_a_class_breaks_a_property_and_its_own_code_never_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, seeds: range
) -> None:
    write_code(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    protocol = register(getattr(import_module(name.partition(":")[0]), name.partition(":")[2]))
    for seed in seeds:
        search = Search(protocol, 3, PROPERTIES, 500, 200, seed, lambda _: None)
        assert isinstance(find(search), PropertyBroken), seed


@pytest.fixture
def view_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Protocol]:
    """The protocols of docs/view-changes.md, by name."""
    write_code(tmp_path, VIEW_CHANGES)
    monkeypatch.syspath_prepend(tmp_path)
    return lambda name: register(getattr(import_module(name.lower()), "Replica" if name == "viewstamped" else name))


@pytest.mark.parametrize(
    ("engine", "seed", "runs"),
    sweep(
        [
            ("hypothesis", 0, 20),
            ("swarm", 0, 60),
            ("swarm", 1, 600),
            ("hypothesis", 1, 250),
        ],
        [("hypothesis", 0, 20), ("swarm", 0, 60)],
    ),
)
def test_viewstamped_replication_is_silent_and_exercises_everything(
    view_changes: Callable[[str], Protocol], engine: str, seed: int, runs: int
) -> None:
    tally = Tally(select(PROPERTIES))
    search = Search(view_changes("viewstamped"), 3, PROPERTIES, runs, 200, seed, tally.add)
    assert find_by(Engine(engine), search) is None
    assert [name for name, runs in tally.exercised.items() if not runs] == []


@pytest.mark.slow
def test_viewstamped_replication_is_silent_with_any_number_of_replicas(
    view_changes: Callable[[str], Protocol],
) -> None:
    assert find_by(Engine.swarm, Search(view_changes("viewstamped"), properties=PROPERTIES, runs=250, rng=1)) is None


@pytest.mark.parametrize("engine", ["hypothesis", "swarm"])
@pytest.mark.parametrize("seed", sweep(range(3), [0]))
def test_the_longest_log_is_found_wrong_with_every_seed(
    view_changes: Callable[[str], Protocol], engine: str, seed: int
) -> None:
    found = find_by(Engine(engine), Search(view_changes("Longest"), 3, PROPERTIES, 500, 200, seed))
    assert isinstance(found, PropertyBroken)


@pytest.mark.parametrize(("page", "outputs"), [(PAGE, 2), (VIEW_CHANGES, 1)])
def test_the_code_of_the_page_is_all_that_there_is(page: Path, outputs: int) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(CODE.findall(text)) == text.count("```python")
    assert len(OUTPUT.findall(text)) == text.count("```text") == outputs


def test_the_docstring_of_the_module_names_all_that_a_process_can_call() -> None:
    """All that is public in the class is documented, and all that it calls is in the overview."""
    public = [name for name in vars(zabcheck.Process) if not name.startswith("_")]
    effects = [name for name in public if f"def {name}(self" in CALLS]
    assert own.__doc__ is not None
    assert [name for name in effects if f"`{name}`" not in own.__doc__] == []
    methods = [getattr(zabcheck.Process, name) for name in public if callable(getattr(zabcheck.Process, name))]
    assert [method.__name__ for method in methods if not method.__doc__] == []


CALLS = (
    Path(own.__file__)
    .read_text(encoding="utf-8")
    .partition("# What a step can do.")[2]
    .partition("# What a step can ask")[0]
)

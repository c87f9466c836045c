"""docs/your-own-protocol.md: its code runs, and what it shows is what pytest prints."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

import zabcheck
from docs.generators.own_protocol import CODE, OUTPUT, PAGE, made, printed, write_code
from zabcheck.protocols import own
from zabcheck.protocols.adapter import PROPERTIES, register
from zabcheck.search.machine import find
from zabcheck.search.run import PropertyBroken, Search


def test_what_the_page_shows_is_real() -> None:
    assert made() == {PAGE: PAGE.read_text(encoding="utf-8")}


def test_another_seed_finds_what_the_page_says(tmp_path: Path) -> None:
    write_code(tmp_path)
    assert "zxid uniqueness is violated" in printed(tmp_path, "--hypothesis-seed=1", "test_careful.py")


@pytest.mark.parametrize("name", ["naive:Naive", "careful:Careful"])
def test_with_every_seed_a_class_breaks_a_property_and_its_own_code_never_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write_code(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for module in ("naive", "careful"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    protocol = register(getattr(import_module(name.partition(":")[0]), name.partition(":")[2]))
    for seed in range(15):
        search = Search(protocol, 3, PROPERTIES, 500, 200, seed, lambda _: None)
        assert isinstance(find(search), PropertyBroken), seed


def test_the_code_of_the_page_is_all_that_there_is() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(CODE.findall(text)) == text.count("```python")
    assert len(OUTPUT.findall(text)) == text.count("```text") == 2


def test_the_docstring_of_the_module_names_all_that_a_process_can_call() -> None:
    """What is public in the class is documented, and what it calls is in the overview."""
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

"""docs/your-own-protocol.md: its code runs, and what it shows is what pytest prints."""

from pathlib import Path

import zabcheck
from docs.generators.own_protocol import CODE, OUTPUT, PAGE, made, printed, write_code
from zabcheck.protocols import own


def test_what_the_page_shows_is_real() -> None:
    assert made() == {PAGE: PAGE.read_text(encoding="utf-8")}


def test_another_seed_finds_what_the_page_says(tmp_path: Path) -> None:
    write_code(tmp_path)
    assert "zxid uniqueness is violated" in printed(tmp_path, "--hypothesis-seed=1", "test_careful.py")


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

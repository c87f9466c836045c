"""docs/your-own-protocol.md: its code runs, and what it shows is what pytest prints.

`python -m tests.packaging.test_own_protocol_page` writes the output anew.
"""

import re
import tempfile
from pathlib import Path

import pytest

import zabcheck
from tests.packaging.plugin import ROOT, failing_tests
from zabcheck.protocols import own

PAGE = ROOT / "docs/your-own-protocol.md"
CODE = re.compile(r"`(\w+\.py)`:\n\n```python\n(.*?)```", re.DOTALL)
OUTPUT = re.compile(r"^    pytest (\S+) (\w+\.py)\n\n```text\n(.*?)\n```", re.DOTALL | re.MULTILINE)


def write_code(folder: Path) -> None:
    """Each file of the page."""
    for name, code in CODE.findall(PAGE.read_text(encoding="utf-8")):
        (folder / name).write_text(code, encoding="utf-8")


def printed(folder: Path, option: str, file: str) -> str:
    """What pytest prints of the failing test in `file`, without what is around it."""
    out = failing_tests(folder, option, file)
    [report] = re.findall(r"^_+ \w+\.runTest _+\n(.*?)^=+ zabcheck =+$", out, re.DOTALL | re.MULTILINE)
    return str(report).rstrip()


@pytest.mark.parametrize("number", [0, 1])
def test_what_the_page_shows_is_real(number: int, tmp_path: Path) -> None:
    write_code(tmp_path)
    option, file, shown = OUTPUT.findall(PAGE.read_text(encoding="utf-8"))[number]
    assert shown == printed(tmp_path, option, file)


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


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        write_code(Path(folder))
        text = PAGE.read_text(encoding="utf-8")
        for option, file, shown in OUTPUT.findall(text):
            text = text.replace(shown, printed(Path(folder), option, file), 1)
        PAGE.write_text(text, encoding="utf-8")

"""docs/counterexamples.md shows what its commands and its Python print, and lists the forms that there are."""

import re
import sys
from pathlib import Path

from docs.generators.output import DOCS, read, run, with_output
from zabcheck.counterexample.forms.exports import FORMS

PAGE = DOCS / "counterexamples.md"
TABLE = re.compile(r"\| suffix \| what it is \|\n\|---\|---\|\n(?:\|.*\n)*")
PYTHON = re.compile(r"```python\n(.*?)```\n(?:\n```text\n.*?```\n)?", re.DOTALL)


def made() -> dict[Path, str]:
    """Return the page with all output made anew."""
    rows = "".join(f"| `{suffix}` | {form.what} |\n" for suffix, form in FORMS.items())
    text = TABLE.sub(lambda _: f"| suffix | what it is |\n|---|---|\n{rows}", with_output(read(PAGE)))
    return {PAGE: PYTHON.sub(lambda each: with_printed(each[1]), text)}


def with_printed(code: str) -> str:
    """Return an example in Python with what it prints."""
    return f"```python\n{code}```\n\n```text\n{run([sys.executable, '-c', code])}```\n"

"""What docs/counterexamples.md shows is what the commands print, and what its Python prints.

python -m tests.packaging.test_counterexamples_page
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from zabcheck.counterexample.forms.exports import FORMS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/counterexamples.md"
COMMAND = re.compile(r"```text\n(\$ .*)\n(?:.*\n)*?```\n")
TABLE = re.compile(r"\| suffix \| what it is \|\n\|---\|---\|\n(?:\|.*\n)*")
PYTHON = re.compile(r"```python\n(.*?)```\n(?:\n```text\n.*?```\n)?", re.DOTALL)


def page() -> str:
    """The page with what is printed now."""
    text = PAGE.read_text(encoding="utf-8")
    text = COMMAND.sub(lambda found: f"```text\n{found[1]}\n{printed(found[1].removeprefix('$ '))}```\n", text)
    rows = "".join(f"| `{suffix}` | {form.what} |\n" for suffix, form in FORMS.items())
    text = TABLE.sub(lambda _: f"| suffix | what it is |\n|---|---|\n{rows}", text)
    return PYTHON.sub(
        lambda found: f"```python\n{found[1]}```\n\n```text\n{run(sys.executable, '-c', found[1])}```\n", text
    )


def printed(command: str) -> str:
    """By a shell in which `zabcheck` is this one."""
    return run("sh", "-c", command.replace("zabcheck explain", f"{sys.executable} -m zabcheck explain"))


def run(*command: str) -> str:
    environment = os.environ | {"COLUMNS": "100", "PYTHONIOENCODING": "utf-8", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

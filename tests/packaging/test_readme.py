"""What README shows is what the command prints."""

import os
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def shown_example() -> str:
    """The counterexample in README; `python -m tests.packaging.test_readme` writes it anew."""
    [example] = re.findall(r"```text\n(chosen is violated\n.*?)\n```", README.read_text(), re.DOTALL)
    return str(example)


def printed_example(out: Path) -> str:
    """What the command in README prints, from what is violated to the last line before the files."""
    command = [
        sys.executable,
        "-m",
        "zabcheck",
        "run",
        "--mutant",
        "commit-on-own-ack",
        "--seed",
        "1",
        "--out",
        str(out),
    ]
    environment = os.environ | {"COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 1, result.stderr
    report = re.search(r"^chosen is violated\n.*(?=^replay: )", result.stdout, re.DOTALL | re.MULTILINE)
    assert report is not None, result.stdout
    return "\n".join(line.rstrip() for line in report.group().strip().splitlines())


def test_the_example_in_readme_is_real(tmp_path: Path) -> None:
    assert shown_example() == printed_example(tmp_path)


if __name__ == "__main__":
    text = README.read_text()
    README.write_text(text.replace(shown_example(), printed_example(Path("reports"))))

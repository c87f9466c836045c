"""The scripts of the pages say `// @ts-check`, and `make lint` checks the types of what says so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from zabcheck.counterexample.forms import page
from zabcheck.play import document

SCRIPTS = {
    "play.js": (document.resource("play.js"), 'let version = "";', "let version = 1;"),
    "page.js": (page.resource("page.js"), "let at = -1;", 'let at = "";'),
}


@pytest.mark.slow
def test_a_wrong_type_is_found(tmp_path: Path) -> None:
    for name, (source, right, wrong) in SCRIPTS.items():
        assert source.count(right) == 1
        (tmp_path / name).write_text(source.replace(right, wrong), encoding="utf-8")
    command = [Path(sys.executable).with_name("deno"), "check", "--no-config", *(tmp_path / name for name in SCRIPTS)]
    environment = {**os.environ, "DENO_DIR": str(tmp_path / "deno"), "DENO_NO_UPDATE_CHECK": "1", "NO_COLOR": "1"}
    checked = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert checked.returncode == 1
    assert "TS2322" in checked.stderr
    assert all(f"/{name}:" in checked.stderr for name in SCRIPTS)

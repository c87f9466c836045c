"""The page's script says `// @ts-check`, and `make lint` checks the types of what says so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from zabcheck.play.document import resource

RIGHT = 'let version = "";'


@pytest.mark.slow
def test_a_wrong_type_is_found(tmp_path: Path) -> None:
    source = resource("play.js")
    assert source.count(RIGHT) == 1
    script = tmp_path / "play.js"
    script.write_text(source.replace(RIGHT, "let version = 1;"), encoding="utf-8")
    command = [Path(sys.executable).with_name("deno"), "check", "--no-config", script]
    environment = {**os.environ, "DENO_DIR": str(tmp_path / "deno"), "DENO_NO_UPDATE_CHECK": "1"}
    checked = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert checked.returncode == 1
    assert "TS2322" in checked.stderr

"""The kinds of input, and the cases of each."""

import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.cli.fuzzing.calling import Hang
from tests.cli.fuzzing.command_lines import command_line
from tests.cli.fuzzing.configurations import gate_configured, replay_configured
from tests.cli.fuzzing.files import check_merged, check_one, explain_one, judge_one, play_one, replay_one, scale_one
from tests.cli.fuzzing.folders import FOLDERS
from tests.cli.fuzzing.watching import PLANTED

KINDS: dict[str, Callable[[Random, Path], int]] = {
    "check": check_one,
    "merge": check_merged,
    "replay": replay_one,
    "explain": explain_one,
    "play": play_one,
    "recording": judge_one,
    "configuration": replay_configured,
    "gate": gate_configured,
    "arguments": command_line,
    "plan": scale_one,
    **FOLDERS,
}


def fuzz(kind: str, numbers: range, folder: Path) -> list[int]:
    """The exit codes of these cases; the current folder has to be `folder`."""
    codes = []
    (folder / f"{PLANTED}.py").write_text("raise ImportError\n")
    sys.path.append(str(folder))  # so that it is found if somebody looks for it
    try:
        for case in numbers:
            try:
                codes.append(KINDS[kind](Random(f"{kind} {case}"), folder))
            except (Exception, Hang) as error:
                raise AssertionError(f"{kind}, case {case}: {type(error).__name__} {error}") from error
    finally:
        sys.path.remove(str(folder))
    return codes

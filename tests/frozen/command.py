"""The command within this process, in a folder of its own, and everything that it printed and wrote."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import msgspec
import pyarrow.parquet as pq

from tests.frozen.hashing import plain
from zabcheck import cli

_CHANGES_OUTPUT = ("NO_COLOR", "FORCE_COLOR", "CI", "PYTHONHASHSEED")
DATA = (".json", ".jsonl", ".smt2", ".csv")
"""The suffixes of files that are a format; all others are pages for readers."""

_BY_MATPLOTLIB = '<g id="figure_1">'
"""Stands in a plot of its own. Of such a plot only the words are hashed: its layout depends on the version."""


@contextmanager
def folder() -> Iterator[Path]:
    """Make a folder, be in it, and remove it; outside it nothing is written."""
    before = Path.cwd()
    with TemporaryDirectory(prefix="frozen-") as name:
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(before)


def json(*arguments: str) -> dict[str, Any]:
    """Return what the command says and writes, as data: its JSON, and its exit code."""
    return called(*arguments, "--format", "json")


def called(*arguments: str) -> dict[str, Any]:
    """Return the exit code of a command, what it prints, and the files that it leaves in the current folder.

    If it prints JSON, that is decoded; of text the last line, the verdict, is apart.
    """
    here = Path.cwd()
    before = set(here.rglob("*"))
    code, out, err = _call(arguments)
    result: dict[str, Any] = {"code": code, "err": plain(err, here)}
    if out.startswith("{"):
        result["json"] = msgspec.json.decode(plain(out, here))
    else:
        lines = plain(out, here).splitlines()
        result |= {"verdict": "".join(lines[-1:]), "out": "\n".join(lines)}
    for path in sorted(set(here.rglob("*")) - before):
        if path.is_file() and not path.name.startswith("."):
            result.setdefault("files", {}).update(_file(path, here))
    return result


def _file(path: Path, here: Path) -> dict[str, Any]:
    name = str(path.relative_to(here))
    if path.suffix == ".parquet":
        return {name: str(pq.read_schema(path).remove_metadata())}
    text = plain(path.read_text(encoding="utf-8"), here)
    if path.suffix == ".json":
        return {name: msgspec.json.decode(text)}
    if _BY_MATPLOTLIB in text:
        return {name: {"pages": re.findall("<text[^>]*>([^<]*)</text>", text)}}
    return {name: {"data" if path.suffix in DATA else "pages": text}}


def _call(arguments: tuple[str, ...]) -> tuple[int, str, str]:
    out, err = (TextIOWrapper(BytesIO(), encoding="utf-8") for _ in range(2))
    kept = {k: v for k, v in os.environ.items() if k not in _CHANGES_OUTPUT and not k.startswith("GITHUB_")}
    with (
        patch.dict(os.environ, {**kept, "COLUMNS": "120"}, clear=True),
        patch.object(sys, "argv", ["zabcheck", *arguments]),
        patch.object(sys, "stdin", TextIOWrapper(BytesIO())),
        patch.object(sys, "stdout", out),
        patch.object(sys, "stderr", err),
        patch.object(sys, "path", list(sys.path)),
    ):
        try:
            cli.main()
        except SystemExit as exited:
            code = exited.code
    assert isinstance(code, int)
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]  # it is a BytesIO
    return code, texts[0], texts[1]

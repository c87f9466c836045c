"""A hint says what installs an extra here, wherever this zabcheck was installed from."""

import json
import re
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from packaging.requirements import Requirement

from zabcheck import extras

ROOT = Path(__file__).parents[2]
URL = "https://example.org/zabcheck"


@pytest.mark.parametrize(
    ("recorded", "hint"),
    [
        (None, "pip install 'zabcheck[spark]'"),
        ({"url": "file:///a%20b/c", "dir_info": {"editable": True}}, "pip install -e '/a b/c[spark]'"),
        ({"url": "file:///c", "dir_info": {}}, "pip install '/c[spark]'"),
        ({"url": f"{URL}.whl", "archive_info": {}}, f"pip install 'zabcheck[spark] @ {URL}.whl'"),
        ({"url": URL, "vcs_info": {"vcs": "git", "commit_id": "c0"}}, f"pip install 'zabcheck[spark] @ git+{URL}@c0'"),
    ],
)
def test_the_hint_names_where_it_came_from(
    recorded: dict[str, Any] | None, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = None if recorded is None else json.dumps(recorded)
    monkeypatch.setattr(extras, "distribution", lambda _: SimpleNamespace(read_text=lambda _: text))
    assert extras.pip_install("spark") == hint
    if " @ " in hint:
        assert Requirement(hint.split("'")[1]).extras == {"spark"}


def test_a_checkout_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: str) -> None:
        raise PackageNotFoundError

    monkeypatch.setattr(extras, "distribution", none)
    assert extras.pip_install("spark") == f"pip install '{ROOT}[spark]'"


def test_every_extra_in_a_hint_is_one() -> None:
    declared = re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    sources = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "zabcheck").rglob("*.py"))}
    named = [extra for text in sources.values() for extra in re.findall(r"pip_install\(['\"](\w+)['\"]\)", text)]
    assert named
    assert {*named} <= {*declared}


def test_no_other_module_says_how_to_install() -> None:
    """Neither does a page name the package index, which does not have zabcheck yet."""
    sources = [path for path in sorted((ROOT / "zabcheck").rglob("*.py")) if path.name != "extras.py"]
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    told = [path for path in sources if "pip install" in path.read_text(encoding="utf-8")]
    told += [path for path in pages if re.search(r"pip install \S*zabcheck", path.read_text(encoding="utf-8"))]
    assert told == []

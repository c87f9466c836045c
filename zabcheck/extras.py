"""Tells how to install what an extra of zabcheck brings, wherever this zabcheck was installed from."""

import json
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from shlex import quote
from urllib.parse import unquote, urlsplit


def pip_install(extra: str) -> str:
    """Return the command that adds an extra to this zabcheck: `pip install 'zabcheck[spark]'`, if an index has it.

    pip records the folder or the address that it installed a package from, unless that was an index (PEP 610).
    """
    try:
        recorded = distribution("zabcheck").read_text("direct_url.json")
    except PackageNotFoundError:  # a checkout that is on the path, and not installed
        return f"pip install {quote(f'{Path(__file__).parents[1]}[{extra}]')}"
    return f"pip install {_source(json.loads(recorded), extra)}" if recorded else f"pip install 'zabcheck[{extra}]'"


def _source(recorded: dict[str, dict[str, object] | str], extra: str) -> str:
    url, vcs, folder = str(recorded["url"]), recorded.get("vcs_info"), recorded.get("dir_info")
    if isinstance(folder, dict):
        editable = "-e " if folder.get("editable") else ""
        return editable + quote(f"{unquote(urlsplit(url).path)}[{extra}]")
    if isinstance(vcs, dict):
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    return quote(f"zabcheck[{extra}] @ {url}")

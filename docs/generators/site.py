"""Builds the documentation as a site in build/site, and checks it.

python -m docs.generators.site

Zensical makes the pages and reports links in Markdown to pages and headings that are not there. It does not say which
pages the navigation lacks, so the finished site is checked once more: every link and every picture leads to a file of
the site, or to a heading in it, and every page is in the navigation.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from docs.generators import reference
from docs.generators.output import DOCS, ROOT

PAGES, SITE = ROOT / "build/pages", ROOT / "build/site"
"""The folders that Zensical reads and writes (zensical.toml)."""
LEFT_OUT = ("generators", "__init__.py", "__pycache__")
OTHERS = {
    "reports/gallery": "gallery",
    "reports/lessons": "lessons",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
}
"""The files of the site that are not in docs/: where each is, and its place on the site."""
SOURCE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?:zabcheck|invariants|tests|benchmarks|kits)/[^)]*\)")
"""A link to the source code, which is not on the site."""
ON_THE_SITE = re.compile(r"<!-- site: (.*?) -->", re.DOTALL)
"""A passage of a page that links to what only the site has."""


def main() -> int:
    """Build and check the site; return the exit code."""
    lay_out(PAGES)
    shutil.rmtree(SITE, ignore_errors=True)
    done = subprocess.run([sys.executable, "-m", "zensical", "build", "--clean", "--strict"], cwd=ROOT, check=False)
    if done.returncode:
        return done.returncode
    wrong = [*broken_links(SITE), *not_in_navigation(PAGES, navigation())]
    print("".join(f"{each}\n" for each in wrong), end="", file=sys.stderr)
    return 1 if wrong else 0


def lay_out(folder: Path) -> None:
    """Write the pages of docs/, the gallery, the pages at the top of the repository and the reference into `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    for place, name in OTHERS.items():
        path = ROOT / place
        if path.is_dir():
            shutil.copytree(path, folder / name)
        else:
            shutil.copy(path, folder / name)
    for place, text in reference.pages().items():
        (folder / place).parent.mkdir(exist_ok=True)
        (folder / place).write_text(text, encoding="utf-8")
    for page in folder.rglob("*.md"):
        page.write_text(relinked(page.read_text(encoding="utf-8")), encoding="utf-8")


def relinked(text: str) -> str:
    """Return a page with its links as they have to be on the site. Links to the source code become its path."""
    text = ON_THE_SITE.sub(lambda passage: passage[1], text)
    text = SOURCE.sub(lambda link: link[1], text)
    text = re.sub(r"\]\(docs/", "](", text)  # in CONTRIBUTING.md and CHANGELOG.md
    return re.sub(r"\]\(((?:\.\./)*)\.\./reports/(gallery|lessons)/", r"](\1\2/", text)


def navigation() -> set[str]:
    """Return the pages that the navigation of zensical.toml has."""
    return set(paths(tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]))


def paths(entries: Any) -> Iterator[str]:
    """Yield the pages of a part of the navigation."""
    if isinstance(entries, str):
        yield entries
    else:
        for entry in entries.values() if isinstance(entries, dict) else entries:
            yield from paths(entry)


def not_in_navigation(folder: Path, named: set[str]) -> Iterator[str]:
    """Yield a sentence for each page that the navigation lacks, and for each that it names although there is none."""
    pages = {str(page.relative_to(folder)) for page in folder.rglob("*.md")}
    yield from (f"{page}: not in the navigation of zensical.toml" for page in sorted(pages - named))
    missing = sorted(page for page in named - pages if not (folder / page).is_file())
    yield from (f"zensical.toml: {page} is in the navigation, but not in docs/" for page in missing)


class Page(HTMLParser):
    """The links of a page, and the places in it that can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        """Note the links and the names of an element."""
        for name, value in attrs:
            if value and name in ("href", "src") and tag in ("a", "img", "link", "script"):
                self.links.append(value)
            if value and name in ("id", "name"):
                self.anchors.add(value)


def broken_links(site: Path) -> Iterator[str]:
    """Yield a sentence for each link of a page to a file or a heading that is not there. Other sites are not asked."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
    for path, page in pages.items():
        for link in sorted(set(page.links)):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                yield f"{path.relative_to(site)}: {link} is not there"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{path.relative_to(site)}: {link}: no such heading"


if __name__ == "__main__":
    sys.exit(main())

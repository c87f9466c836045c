"""The documentation as a site: what its build checks. (`make docs` builds it.)"""

from pathlib import Path

import pytest

from docs.generators.site import broken_links, lay_out, navigation, not_in_navigation, relinked


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Two pages and a picture; all links of the first one lead somewhere."""
    (tmp_path / "deeper").mkdir()
    (tmp_path / "picture.svg").write_text("<svg/>")
    (tmp_path / "index.html").write_text(
        '<a href="deeper/page.html#there">x</a><a href="#here">x</a><h2 id="here">x</h2><img src="picture.svg">'
        '<a href="https://zookeeper.apache.org/nothing">x</a>'
    )
    (tmp_path / "deeper/page.html").write_text('<h2 id="there">x</h2><a href="..">x</a>')
    return tmp_path


def test_links_that_lead_somewhere_are_no_finding(site: Path) -> None:
    assert list(broken_links(site)) == []


@pytest.mark.parametrize(
    ("link", "wrong"),
    [
        ('<a href="other.html">', "other.html is not there"),
        ('<img src="../other.svg">', "../other.svg is not there"),
        ('<a href="../index.html#other">', "../index.html#other: no such heading"),
        ('<a href="#other">', "#other: no such heading"),
    ],
)
def test_a_link_that_leads_nowhere_is_found(link: str, wrong: str, site: Path) -> None:
    (site / "deeper/page.html").write_text(f'<h2 id="there">x</h2>{link}')
    assert list(broken_links(site)) == [f"deeper/page.html: {wrong}"]


@pytest.mark.slow
def test_every_page_is_in_the_navigation_and_one_that_is_not_is_found(tmp_path: Path) -> None:
    lay_out(tmp_path / "pages")
    assert list(not_in_navigation(tmp_path / "pages", navigation())) == []
    (tmp_path / "pages/new.md").touch()
    assert list(not_in_navigation(tmp_path / "pages", {*navigation(), "old.md"})) == [
        "new.md: not in the navigation of zensical.toml",
        "zensical.toml: old.md is in the navigation, but not in docs/",
    ]


@pytest.mark.parametrize(
    ("link", "on_the_site"),
    [
        ("[x](mutants.md)", "[x](mutants.md)"),
        ("[x](../reports/gallery/index.html)", "[x](gallery/index.html)"),
        ("[x](../../reports/gallery/index.html)", "[x](../gallery/index.html)"),
        ("![x](../../reports/lessons/broadcast.svg)", "![x](../lessons/broadcast.svg)"),
        ("[x](docs/gate.md)", "[x](gate.md)"),
        ("[`own.py`](../zabcheck/protocols/own.py)", "`own.py`"),
    ],
)
def test_links_of_the_repository_become_links_of_the_site(link: str, on_the_site: str) -> None:
    assert relinked(link) == on_the_site

"""The page of a campaign: it stands alone, whoever reads it, and whatever is in it."""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec import structs

from tests.campaign.report.campaigns import EVIL, FINDING, REPORT, worst
from zabcheck.campaign.report.sheets import groups

ROOT = Path(__file__).parents[3]
SVG = "{http://www.w3.org/2000/svg}"
each_page = pytest.mark.parametrize("text", ["good", "bad"], indirect=True)


@cache
def made(name: str) -> str:
    """Return a page: a good campaign's, or one with the worst that there can be in it. Plots take seconds to draw."""
    from zabcheck.campaign.report.page import page  # it loads matplotlib, for this worker alone

    return page(REPORT if name == "good" else worst())


@pytest.fixture
def text(request: pytest.FixtureRequest) -> str:
    return made(request.param)


def parsed(text: str) -> ElementTree.Element:
    start = "<!DOCTYPE html>\n"
    assert text.startswith(start)
    return ElementTree.fromstring(text.removeprefix(start))


@each_page
def test_it_needs_nothing_but_itself(text: str) -> None:
    root = parsed(text)
    names = ("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink")
    without_names = re.sub(rf'xmlns(:xlink)?="({"|".join(names)})"', "", text)
    assert not re.search(r"https?:|@import|@font-face|\bsrc=|srcset=", without_names)
    tags = {element.tag for element in root.iter()}
    assert not {"script", "link", "img", "iframe", "object", "form", f"{SVG}script", f"{SVG}image"} & tags
    for element in root.iter():
        for name, value in element.attrib.items():
            assert not name.startswith("on"), name
            if name.endswith("href"):
                assert value.startswith(("#", "findings/")), "it leads to what the campaign wrote beside the page"
            assert re.findall(r"url\((?!#)", value) == []
    [policy] = [each for each in root.iter("meta") if "http-equiv" in each.attrib]
    assert policy.attrib["content"].startswith("default-src 'none'")


@each_page
def test_every_name_is_there_once_and_what_refers_to_one_finds_it(text: str) -> None:
    root = parsed(text)
    names = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    assert len(names) == len({*names})
    referred = set()
    for element in root.iter():
        for name, value in element.attrib.items():
            referred |= {*re.findall(r"url\(#([^)]+)\)", value)}
            if name.endswith("href") and value.startswith("#"):
                referred.add(value[1:])
            if name in ("aria-labelledby", "aria-describedby"):
                referred.add(value)
    assert referred - {*names} == set()


@each_page
def test_a_screen_reader_finds_its_way(text: str) -> None:
    root = parsed(text)
    assert root.attrib["lang"] == "en"
    assert [each.tag for each in root.iter() if each.tag in ("h1", "main", "nav", "header")] == [
        "header",
        "h1",
        "nav",
        "main",
    ]
    sections = root.findall(".//section")
    assert len(sections) >= 8
    assert all(section[0].tag == "h2" for section in sections)
    plots = list(root.iter(f"{SVG}svg"))
    assert len(plots) >= 9
    for plot in plots:
        assert (plot[0].tag, plot[1].tag, plot.attrib["role"]) == (f"{SVG}title", f"{SVG}desc", "img")
        assert plot[0].text
        assert plot[1].text
    for table in root.iter("table"):
        assert table[0].tag == "caption"
        assert table[0].text
        assert {head.attrib["scope"] for head in table.findall("thead//th")} == {"col"}
        assert {row[0].attrib["scope"] for row in table.findall("tbody/tr")} == {"row"}


@each_page
def test_colours_follow_the_page_from_light_to_dark(text: str) -> None:
    for plot in parsed(text).iter(f"{SVG}svg"):
        for element in plot.iter():
            for value in element.attrib.values():
                assert not re.search(r"(fill|stroke|color)\s*:\s*#", value), value
            assert not element.attrib.get("fill", "").startswith("#")
    variables = {*re.findall(r"var\((--\w+)\)", text)}
    for scheme in re.findall(r":root \{([^}]*)\}", text):
        assert {*re.findall(r"(--\w+):", scheme)} == variables


@each_page
def test_on_a_phone_nothing_but_a_table_is_wider_than_the_screen(text: str) -> None:
    root = parsed(text)
    parents = {child: parent for parent in root.iter() for child in parent}
    for table in root.iter("table"):
        box = parents[table]
        assert (box.attrib["class"], box.attrib["tabindex"]) == ("scroll", "0")
    assert not [
        plot.attrib for plot in root.iter(f"{SVG}svg") if "width" in plot.attrib or "viewBox" not in plot.attrib
    ]


def test_texts_are_escaped_and_cleaned() -> None:
    assert "<script>" not in made("bad")
    assert not {"\x1b", "\r", "\x00", "\u202e", "\ud800"} & {*made("bad")}
    texts = [text for element in parsed(made("bad")).iter() for text in (element.text, element.tail) if text]
    shown = "a]]>b<&>\"'|\\n\\r\\x00\\x1b[2J\\u202e\\ud800 [red]c[/red] $x^2$ </svg><script>d</script> é"
    assert sum(shown in text for text in texts) > 50
    assert EVIL not in made("bad")


def test_it_says_what_the_tables_say() -> None:
    words = " ".join("".join(parsed(made("good")).itertext()).split())
    for said in (
        "reports/nightly",
        "the protocol as it is: 400 runs, none violates a property",
        "p2 broadcast v3⟨2,1⟩ before it had delivered v1⟨1,1⟩",
        "invariant 4 80, primary integrity 52",
        "1.70 (1.19 to 2.42)",
        "After 800 runs 9,011 abstract states and 2 goals were reached.",
        "The intervals that do not contain 1, drawn with a diamond: 2 processes, power loss.",
        "Most runs, 400, have from 216 to below 316.",
    ):
        assert said in words, said


@pytest.mark.slow
def test_the_same_report_gives_the_same_bytes() -> None:
    """In another process, with another order of hashes."""
    imports = "from tests.campaign.report.campaigns import REPORT; from zabcheck.campaign.report.page import page"
    command = f"{imports}; print(end=page(REPORT))"
    environment = {**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": ".", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run([sys.executable, "-c", command], cwd=ROOT, env=environment, capture_output=True, check=True)
    assert done.stdout.decode() == made("good") == made.__wrapped__("good")


def test_what_lies_beyond_the_edge_of_a_plot_is_drawn_at_the_edge() -> None:
    from zabcheck.campaign.report.plots import ratios

    [_, (name, rows)] = groups(REPORT)
    drawn = ratios("one", name, rows)
    assert "counter limit 1" in drawn
    assert not re.search(r"\b(inf|nan)\b", drawn)


def test_a_plot_of_one_run_is_told_in_the_singular() -> None:
    from zabcheck.campaign.report.plots import growth

    drawn = growth([structs.replace(REPORT.tables.growth[0], runs=1, states=1, goals=1)])
    assert "After 1 run 1 abstract state and 1 goal were reached." in drawn


def test_each_finding_leads_to_its_files() -> None:
    links = [each.attrib["href"] for each in parsed(made("good")).iter("a") if not each.attrib["href"].startswith("#")]
    assert links == [f"findings/{FINDING['report']}", f"findings/{FINDING['schedule']}"]

"""docs/any-language.md shows what is so, and names every line that there is."""

import re

from docs.generators.any_language import PAGE, with_transcript
from docs.generators.output import read
from zabcheck.protocols.external.wire import LINES, SHOWN
from zabcheck.schema import schema


def test_the_transcript_is_real() -> None:
    page = read(PAGE)
    assert with_transcript(page) == page
    assert page.count("\n→ ") == 7


def test_the_page_names_every_body_and_every_field_of_it() -> None:
    page = read(PAGE)
    assert LINES
    for name, body in schema("node")["$defs"].items():
        kind = body.get("properties", {}).get("type", {})
        rows = re.findall(rf"^\| `[\w ]+` \| `{kind.get('const', '-')}` \| (.*?) \|", page, re.MULTILINE)
        if kind.get("const") not in (None, "event"):
            assert len(rows) == 1, name
            fields = {f"`{field}`" for field in body["properties"]} - {"`type`"}
            assert set(re.findall(r"`\w+`", rows[0])) == fields, name
    events = page.partition("## The events")[2].partition("## A transcript")[0]
    assert [kind.__name__ for kind in SHOWN if f"`{kind.__struct_config__.tag}`" not in events] == []

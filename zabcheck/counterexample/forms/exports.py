"""The forms in which a counterexample can be written to a file, by the suffix of the file's name."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from zabcheck.counterexample.forms import page, terminal
from zabcheck.counterexample.forms.mermaid import to_mermaid
from zabcheck.counterexample.forms.picture import to_png
from zabcheck.counterexample.forms.regression import regression_test
from zabcheck.counterexample.forms.shiviz import to_shiviz
from zabcheck.counterexample.forms.story_json import to_json
from zabcheck.counterexample.forms.svg import to_svg
from zabcheck.counterexample.pieces import labels_by_step
from zabcheck.counterexample.story import Story

TEXT_WIDTH = 120
"""The width of saved text, and the least width of text printed into a pipe, in columns."""


class Form(NamedTuple):
    """A form of counterexample, described by `what`.

    `make(story, schedule)` gives the content of the file; `schedule` is the name of the schedule's file. ValueError if
    the story cannot be shown in this form, ImportError if a library for it is not installed.
    """

    what: str
    make: Callable[[Story, str], bytes]
    has_graph: bool = False
    """True if the form has the graph of the witness, which takes some four kilobytes an event while it is made."""


def _graphml(story: Story, _: str) -> bytes:
    # networkx takes longer to import than most commands take.
    from zabcheck.counterexample.forms.graph_files import to_graphml
    from zabcheck.counterexample.witness_graph import graph_of

    return to_graphml(graph_of(story))


def _dot(story: Story, _: str) -> bytes:
    from zabcheck.counterexample.forms.graph_files import to_dot
    from zabcheck.counterexample.witness_graph import graph_of

    return to_dot(graph_of(story)).encode()


FORMS: Mapping[str, Form] = {
    ".html": Form("a page to step through", lambda story, schedule: page.page(story, schedule).encode(), True),
    ".txt": Form("what is printed", lambda story, name: terminal.to_text(story, TEXT_WIDTH, file=name).encode()),
    ".svg": Form("the space-time diagram", lambda story, _: to_svg(story, labels_by_step(story)).encode()),
    ".png": Form("the same as a picture; needs the extra `png`", lambda story, _: to_png(story, labels_by_step(story))),
    ".mmd": Form("the same for Mermaid", lambda story, _: to_mermaid(story, labels_by_step(story)).encode()),
    ".log": Form(
        "a log for ShiViz, with vector clocks", lambda story, _: to_shiviz(story, labels_by_step(story)).encode()
    ),
    ".dot": Form("the PO-causality graph for Graphviz", _dot, True),
    ".graphml": Form("the same as GraphML", _graphml, True),
    ".json": Form("all of it, for programs (docs/output.md)", lambda story, _: to_json(story)),
    ".py": Form("a regression test for pytest", lambda story, _: regression_test(story).encode()),
}

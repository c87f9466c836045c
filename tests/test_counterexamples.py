"""`zabcheck.search`: a counterexample as an object."""

import inspect
import json
from pathlib import Path

import networkx as nx
import pytest
from rich.console import Console

import zabcheck
from invariants import check
from zabcheck.counterexamples import NotExercised, search
from zabcheck.protocols.own import Process
from zabcheck.search.run import ProtocolRaised
from zabcheck.simulation import schedule as schedules


@pytest.fixture(scope="module")
def found() -> zabcheck.Counterexample:
    counterexample = zabcheck.search("zab", mutant="commit-on-own-ack", seed=1)
    assert counterexample is not None
    return counterexample


def test_a_counterexample_is_found_and_breaks_the_property(found: zabcheck.Counterexample) -> None:
    assert found.violation is not None
    assert found.property == found.violation.property == found.schedule.violates == "chosen"
    verdicts = {verdict.property: verdict.status for verdict in check(found.events)}
    assert verdicts["chosen"] == "violated"
    assert found.explanation
    assert repr(found) == f"<Counterexample: 'chosen' violated by zab in {found.steps} steps>"


def test_its_schedule_fails_as_a_test(found: zabcheck.Counterexample) -> None:
    with pytest.raises(AssertionError, match="chosen is violated"):
        zabcheck.assert_schedule(schedules.dump(found.schedule))


def test_it_is_shown_by_print_by_rich_and_in_a_notebook(found: zabcheck.Counterexample) -> None:
    assert str(found).startswith("chosen is violated\n")
    console = Console(width=100, no_color=True)
    with console.capture() as printed:
        console.print(found)
    assert "chosen is violated" in printed.get()
    assert found._repr_html_().startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')


def test_its_graph_marks_what_is_broken(found: zabcheck.Counterexample) -> None:
    graph = found.graph()
    assert isinstance(graph, nx.DiGraph)
    assert [edge["mark"] for _, _, edge in graph.edges(data=True) if "mark" in edge]


def test_each_form_can_be_written(found: zabcheck.Counterexample, tmp_path: Path) -> None:
    found.write(tmp_path / "bug.html")
    assert found.html() == (tmp_path / "bug.html").read_text(encoding="utf-8")
    assert json.loads(found.write(str(tmp_path / "bug.json")).read_bytes())["violation"]["property"] == "chosen"
    with pytest.raises(ValueError, match=r"bug\.doc: expected a file that ends in one of: \.html, "):
        found.write(tmp_path / "bug.doc")
    assert [file.suffix for file in found.save(tmp_path / "out")] == [".json", ".jsonl", ".txt", ".html"]


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    assert zabcheck.search("zab", runs=50, steps=100, properties="core") is None


def test_a_property_that_no_run_exercises_is_no_pass() -> None:
    with pytest.raises(NotExercised, match="exercised by none of 2 runs: redelivery"):
        zabcheck.search("zab", runs=2, steps=2, properties="redelivery")


class Clumsy(Process):
    """A protocol whose own code raises."""

    def on_elected(self, leader: int) -> None:
        raise KeyError(leader)


class Hasty(Process):
    """A primary that takes the same zxid for everything."""

    def on_elected(self, leader: int) -> None:
        if self.leads:
            self.ready(1)

    def on_request(self, value: str) -> None:
        self.broadcast(zabcheck.Txn(zabcheck.Zxid(1, 1), value))


@pytest.mark.parametrize("engine", ["swarm", "hypothesis"])
def test_a_class_is_searched_with_either_engine(engine: str) -> None:
    found = zabcheck.search(Hasty, engine=engine, processes=1, switches={"sync": "atomic"})
    assert found is not None
    assert (found.property, found.schedule.processes) == ("zxid uniqueness", 1)


def test_code_that_raises_is_no_counterexample() -> None:
    with pytest.raises(ProtocolRaised, match="KeyError"):
        zabcheck.search(Clumsy)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"protocol": "raft"}, "no protocol `raft`"),
        ({"mutant": "no-such"}, "no-such"),
        ({"engine": "dice"}, "dice"),
        ({"runs": 0}, "`runs`: expected 1 or more, found 0"),
        ({"properties": []}, "`properties`: expected one or more"),
        ({"properties": "beauty"}, "beauty"),
        ({"switches": {"sync": "never"}}, "sync: no `never`|sync: expected"),
        ({"quorums": "weights 1"}, "weights"),
        ({"protocol": "zab", "exec": "node"}, "expected either a protocol or `exec`"),
    ],
)
def test_bad_arguments(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        zabcheck.search(**arguments)  # type: ignore[arg-type]  # wrong on purpose


def test_the_package_that_is_called_says_what_it_takes() -> None:
    assert inspect.signature(zabcheck.search) == inspect.signature(search)
    assert dir(zabcheck) == sorted(zabcheck.__all__)

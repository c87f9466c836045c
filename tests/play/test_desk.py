"""The acts of a person at a desk, and the page after each."""

import re
from html import escape
from random import Random
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from tests.cli.command import BROKEN_SCHEDULE
from tests.play.sessions import led
from tests.tiers import sweep
from zabcheck.cli.play import desk_of, lesson_of
from zabcheck.mutants.catalogue import mutated
from zabcheck.papers.lessons import LESSONS
from zabcheck.play.desk import ActRefused, AnyAct, Beside, Curve, Desk, Do, Exercise, Said
from zabcheck.play.holdings import on_disk
from zabcheck.play.link import linked
from zabcheck.play.regions import regions
from zabcheck.play.session import Position, Session
from zabcheck.protocols import PROTOCOLS
from zabcheck.simulation import choices
from zabcheck.simulation import schedule as schedules


def act(desk: Desk, **fields: Any) -> None:
    desk.act(msgspec.json.encode(fields))


SYNC = {"choice": "sync", "process": 1}


def test_each_act_changes_what_is_shown_and_going_back_mends_it() -> None:
    desk = Desk(led())
    assert "no property is violated" in regions(desk)["verdict"]
    act(desk, act="do", choice=SYNC)
    shown = regions(desk)
    assert "chosen is violated: p1 delivered v1⟨1,1⟩" in shown["verdict"]
    assert "chosen: violated in the last step" in shown["properties"]
    assert "total order: not exercised" in shown["properties"]
    act(desk, act="undo")
    assert "no property is violated" in regions(desk)["verdict"]
    act(desk, act="redo")
    act(desk, act="do", choice={"choice": "crash", "process": 2})
    assert "chosen is violated since an earlier step" in regions(desk)["verdict"]
    act(desk, act="go", number=0)
    act(desk, act="go")
    assert desk.session.here.choice == choices.Crash(2)
    assert desk.version == 6


def test_of_several_violations_one_is_told_and_the_others_have_a_line_each() -> None:
    schedule = schedules.load(BROKEN_SCHEDULE, "run")
    shown = regions(Desk(Session.of(mutated("zab", schedule.mutant), schedule)))
    assert "primary integrity is violated: p" in shown["verdict"]
    assert "<summary>Violated, too: " in shown["verdict"]
    assert "<li>strict causality: p" in shown["verdict"]
    assert "primary integrity, chosen, total order and 1 more violated" in shown["branches"]


def test_what_is_shown_is_well_formed_and_every_button_can_be_pressed() -> None:
    desk = Desk(led())
    act(desk, act="do", choice=SYNC)
    act(desk, act="undo")
    act(desk, act="do", choice={"choice": "cut", "sender": 1, "receiver": 2})
    act(desk, act="compare", number=4)
    for id, html in regions(desk).items():
        markup = html.replace("popover=", "data-popover=").replace(" selected ", ' selected="" ')
        for element in ElementTree.fromstring(f"<div>{markup}</div>").iter("button"):
            assert element.get("type") == "button", id
            if element.get("data-act"):
                asked = msgspec.json.decode(element.attrib["data-act"], type=AnyAct)
                if isinstance(asked, Do):
                    assert desk.session.why_not(asked.choice) == ""
            else:
                known = ("aria-disabled", "popovertarget", "data-ask", "data-lead")
                assert any(element.get(each) for each in known), ElementTree.tostring(element)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"act": "do", "choice": {"choice": "crash", "process": 9}}, "not possible: there is no p9"),
        ({"act": "do", "choice": {"choice": "recover", "process": 1}}, "not possible: p1 is up"),
        ({"act": "do", "choice": {"choice": "crush"}}, "no such act: "),
        ({"act": "go", "number": 9}, "expected a position from 0 to 3, found 9"),
        ({"act": "compare", "number": -1}, "expected a position from 0 to 3, found -1"),
        ({"act": "open", "link": "run=1.abc"}, "the link: it was cut or altered"),
        ({"act": "ask", "question": "chances", "name": "chosem"}, "no property `chosem`"),
        ({"act": "ask", "question": "servers"}, "expected servers: zabcheck play --on-zookeeper has some"),
        ({"act": "leave"}, "no such act: "),
        ({}, "no such act: "),
    ],
)
def test_what_cannot_be_done_says_why_and_changes_nothing(fields: dict[str, Any], why: str) -> None:
    desk = Desk(led())
    here = desk.session.here
    with pytest.raises(ActRefused) as refused:
        act(desk, **fields)
    assert str(refused.value).startswith(why)
    assert (desk.session.here, desk.version, len(desk.session.positions)) == (here, 0, 4)


def test_two_runs_are_laid_side_by_side_where_they_part() -> None:
    desk = Desk(led())
    act(desk, act="do", choice=SYNC)
    act(desk, act="undo")
    act(desk, act="do", choice={"choice": "crash", "process": 3})
    act(desk, act="compare", number=4)
    shown = regions(desk)
    assert "The first 3 choices are the same. Here nothing is violated; there chosen violated." in shown["compared"]
    assert '<td class="changed">crash 3</td><td class="changed">sync 1 <strong>chosen violated' in shown["compared"]
    assert "p3 does" in shown["compared"]
    assert "parts after request 1: crash 3" in shown["branches"]
    act(desk, act="compare")
    assert regions(desk)["compared"] == ""


@pytest.mark.slow
def test_the_questions_are_answered() -> None:
    desk = Desk(led())
    act(desk, act="ask", question="violation")
    assert desk.session.here.broken == ("chosen",)
    act(desk, act="ask", question="decided")
    assert isinstance(desk.answer, Said)
    assert "step, 23, completes the violation" in desk.answer.text
    act(desk, act="ask", question="right step")
    assert isinstance(desk.answer, Beside)
    assert desk.answer.other.broken == ()
    told = regions(desk)["answer"]
    assert "the same choices without commit-on-own-ack" in told
    assert "First, after choice" not in told, "only the last choice makes a difference"
    act(desk, act="ask", question="chances")
    assert isinstance(desk.answer, Curve)
    assert (desk.answer.property, desk.answer.found[-1][1]) == ("chosen", desk.answer.tries)
    assert "It jumps at <em>sync 1</em>." in regions(desk)["answer"]
    act(desk, act="undo")
    assert desk.answer is None


def test_a_question_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zabcheck.play.desk.PATIENCE", -1)
    desk = Desk(led())
    act(desk, act="ask", question="violation")
    assert desk.answer == Said("In -1 seconds 0 random continuations from here broke no property.")
    with pytest.raises(ActRefused, match="given up after -1 seconds: 0 of 800 continuations"):
        act(desk, act="ask", question="chances")


def test_a_known_bug_can_be_put_in_where_there_is_none() -> None:
    desk = Desk(led(None))
    with pytest.raises(ActRefused, match="expected a known bug"):
        act(desk, act="ask", question="right step")
    act(desk, act="do", choice=SYNC)
    act(desk, act="ask", question="right step", name="commit-on-own-ack")
    assert isinstance(desk.answer, Beside)
    assert desk.answer.other.broken == ("chosen",)


def test_the_link_of_a_run_is_opened_as_a_branch_with_the_same_trace() -> None:
    desk = Desk(led())
    act(desk, act="do", choice=SYNC)
    link, sha256 = desk.link()
    act(desk, act="open", link=f"http://127.0.0.1:1/#{link}")
    assert desk.link() == (link, sha256)
    assert linked(link).sha256 == sha256
    assert len(desk.session.branches()) == 2
    other = Desk(led(None))
    with pytest.raises(ActRefused, match="it is a run of something else"):
        act(other, act="open", link=link)


def test_what_is_taken_away_shows_the_run_again() -> None:
    desk = Desk(led())
    act(desk, act="do", choice={"choice": "crash", "process": 3})
    act(desk, act="undo")
    act(desk, act="do", choice=SYNC)
    schedule = schedules.load(desk.file("run.schedule.json"), "run")
    assert schedule.violates == "chosen"
    assert b"zabcheck.assert_schedule(SCHEDULE" in desk.file("test_run.py")
    page = desk.file("run.html").decode()
    assert page.count("<svg") == 2
    assert "parts with sync 1: chosen violated" in page
    assert desk.session.here.choice == choices.Sync(1)
    with pytest.raises(ActRefused, match="there is no file"):
        desk.file("../../etc/passwd")


def test_an_exercise_is_told_and_recognised_when_it_is_done() -> None:
    texts = ("A title", "DSN 2011", "p1 leads.", "What breaks?", "Break it.")

    def left(position: Position) -> tuple[str, ...]:
        return () if position.broken else ("it has to break",)

    kinds = frozenset({choices.Lead, choices.Crash})
    desk = Desk(led(), Exercise(*texts, left, "So.", "b", hint=(choices.Sync(1),), needs=kinds))
    assert "Then do: Break it." in regions(desk)["exercise"]
    assert re.search(r"<summary>A way to do it</summary><ol><li><button [^>]*>sync 1<", regions(desk)["exercise"])
    first, rest = regions(desk)["menus"].partition("</div>")[0].split("<summary>all choices</summary>")
    assert "p1 crash" in first
    assert "p1 pause" in rest
    assert "Done." not in regions(desk)["exercise"]
    act(desk, act="do", choice=SYNC)
    assert "<strong>Done.</strong> So. b" in regions(desk)["exercise"]
    assert "Still to do" not in regions(desk)["exercise"]
    act(desk, act="undo")
    assert "<p>Still to do: it has to break.</p>" in regions(desk)["exercise"]


@pytest.mark.parametrize("name", sweep(PROTOCOLS, normal=("zookeeper", "zab-reconfiguration", "db19")))
def test_a_run_of_any_protocol_is_shown_at_each_step(name: str) -> None:
    """Threads, elections by messages, configurations that change and connections without order have a place, too."""
    desk, rng = Desk(Session(mutated(name), 3)), Random(name)
    for _ in range(12):
        possible = [option.choice for option in desk.session.options()]
        shown = regions(desk)
        for choice in possible:
            assert (
                escape(msgspec.json.encode(Do(choice)).decode()) in shown["picture"] + shown["menus"] + shown["whole"]
            )
        desk.act(msgspec.json.encode(Do(rng.choice(possible))))


def cells(desk: Desk, variable: str) -> list[str]:
    """The cells of a variable in the table, without their markup; it has a column."""
    table = ElementTree.fromstring(regions(desk)["state"].partition("<p>")[0])
    heads, *rows = [["".join(cell.itertext()) for cell in row] for row in table.iter("tr")]
    return [row[heads.index(variable)] for row in rows]


def test_the_table_tells_what_was_delivered_and_what_is_not_on_the_disk() -> None:
    desk = Desk(led(None))
    assert cells(desk, "h_f") == ["v1⟨1,1⟩ on disk: empty", "empty", "empty"]
    assert cells(desk, "f.p") == ["1", "1", "1"]
    assert cells(desk, "delivered") == ["empty"] * 3
    act(desk, act="do", choice={"choice": "settle", "rounds": 9})
    assert cells(desk, "h_f") == ["v1⟨1,1⟩"] * 3
    assert cells(desk, "delivered") == ["v1⟨1,1⟩"] * 3
    act(desk, act="do", choice={"choice": "crash", "process": 2})
    assert cells(desk, "delivered") == ["v1⟨1,1⟩"] * 3, "it has, as long as no other incarnation has begun"
    act(desk, act="do", choice={"choice": "recover", "process": 2})
    assert cells(desk, "delivered") == ["v1⟨1,1⟩", "empty", "v1⟨1,1⟩"]


@pytest.mark.parametrize(("keep", "shown"), [(0, "v1⟨1,1⟩ on disk: empty"), (1, "v1⟨1,1⟩")], ids=["lost", "kept"])
def test_the_table_tells_what_a_crash_has_left_on_the_disk(keep: int, shown: str) -> None:
    desk = Desk(led(None))
    act(desk, act="do", choice={"choice": "crash", "process": 1, "keep": keep})
    assert cells(desk, "does")[0] == "down"
    assert cells(desk, "h_f")[0] == shown
    act(desk, act="do", choice={"choice": "settle", "rounds": 1})
    assert cells(desk, "h_f")[0] == shown


def test_a_lesson_that_is_done_leads_to_the_next() -> None:
    desk = desk_of(*lesson_of("discovery", None))
    assert "Next lesson" not in regions(desk)["exercise"]
    desk.session.follow(LESSONS["discovery"].solution.choices)
    assert "Next lesson" in regions(desk)["exercise"]
    act(desk, act="continue")
    assert desk.exercise is not None
    assert desk.exercise.name == "synchronization"
    assert desk.session.here.depth == len(LESSONS["synchronization"].given.choices)
    with pytest.raises(ActRefused, match="there is no next lesson"):
        act(desk_of(*lesson_of([*LESSONS][-1], None)), act="continue")
    with pytest.raises(ActRefused, match="there is no next lesson"):
        act(Desk(led()), act="continue")


@pytest.mark.parametrize("protocol", ["ladis", "paxos", "zab-reconfiguration"])
def test_the_disk_is_told_of_in_every_protocol_that_syncs(protocol: str) -> None:
    """A mark is where something that was written would be lost."""
    desk, random, marked = Desk(Session(mutated(protocol), 3)), Random(1), 0
    for _ in range(40):
        options = [each.choice for each in desk.session.options() if not isinstance(each.choice, choices.Cut)]
        desk.session.do(random.choice(options))
        for process, kept in on_disk(desk.session, desk.session.here).items():
            simulator = desk.session.simulator
            assert simulator.disks[process].unsynced or not simulator.is_up(process)
            marked += bool(kept)
    assert marked


def test_many_choices_of_one_kind_are_folded() -> None:
    menus = regions(Desk(led(None, 5)))["menus"]
    assert "<summary>12 × cut p1 → p3 … cut p5 → p2</summary>" in menus
    assert menus.count("<details>") == 4
    assert "<details>" not in regions(Desk(led(None, 3)))["menus"]

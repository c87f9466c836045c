"""A link has a run, whole, or is refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zabcheck.play import link as links
from zabcheck.play.link import LinkError, is_link, link_of, linked
from zabcheck.search.run import replay
from zabcheck.simulation import schedule as schedules

SCHEDULES = Path(__file__).parents[1] / "schedules"
LONG = replay(schedules.load((SCHEDULES / "count-acks-not-senders.invariant-5.json").read_bytes(), "long"))
LINK = link_of(LONG)


def test_a_link_has_the_schedule_and_the_hash_of_the_trace() -> None:
    for text in (LINK, f"#{LINK}", f"http://127.0.0.1:4711/#{LINK}", f" {LINK}\n"):
        assert is_link(text)
        content = linked(text)
        assert schedules.load(content.schedule, "the link") == LONG.schedule
        assert content.sha256 == LONG.sha256


def test_the_link_of_a_run_of_sixty_steps_is_short() -> None:
    """2 KB are what every mail program and chat leaves whole."""
    assert LONG.steps > 60
    assert len(LINK) < 700
    longest = max((path for path in SCHEDULES.glob("*.json")), key=lambda path: path.stat().st_size)
    assert len(link_of(replay(schedules.load(longest.read_bytes(), "longest")))) < 2048


@given(st.integers(min_value=0, max_value=len(LINK) - 1), st.characters(codec="ascii") | st.just(""))
def test_a_link_that_was_altered_is_refused(place: int, character: str) -> None:
    changed = LINK[:place] + character + LINK[place + 1 :]
    if changed != LINK:
        with pytest.raises(LinkError):
            linked(changed)


@given(st.integers(min_value=0, max_value=len(LINK) - 1))
def test_a_link_that_was_cut_is_refused(length: int) -> None:
    with pytest.raises(LinkError):
        linked(LINK[:length])


def test_a_link_that_is_small_and_unpacks_to_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "MAX_BYTES", 99)
    with pytest.raises(LinkError, match="cut or altered"):
        linked(LINK)


@pytest.mark.parametrize("text", ["", "run.json", "http://127.0.0.1:4711/", "#", "running"])
def test_other_names_are_no_links(text: str) -> None:
    assert not is_link(text)

"""The bars of how likely a property breaks from each position, and where they jump."""

from xml.etree import ElementTree

import pytest

from zabcheck.counterexample.forms.chances import TALL, draw_chances, jump_of
from zabcheck.counterexample.story import Chances


@pytest.mark.parametrize(
    ("broken", "jump"),
    [((3, 5, 40, 50), 2), ((0, 10, 20), 1), ((10, 10), None), ((10,), None), ((50, 40), None)],
)
def test_it_jumps_where_it_rises_most(broken: tuple[int, ...], jump: int | None) -> None:
    assert jump_of(Chances("agreement", 50, tuple(range(len(broken))), broken)) == jump


def test_a_bar_is_as_high_as_its_share() -> None:
    drawn = ElementTree.fromstring(draw_chances(Chances("agreement", 50, (0, 1, 4), (0, 25, 50))))
    heights = [int(bar.attrib["height"]) for bar in drawn.iter("rect")]
    assert heights == [1, TALL // 2, TALL]
    assert [each.text for each in drawn.iter("text")] == ["0", "1", "4"]
    said = drawn.findtext("p")
    assert said == (
        "Of 50 random continuations from the start 0 break agreement. "
        "Most is decided at step 1: of those before it 0, after it 25."
    )


def test_what_never_rises_has_no_step() -> None:
    drawn = draw_chances(Chances("chosen", 100, (0, 1), (100, 100)))
    assert "<p>Of 100 random continuations from the start 100 break chosen.</p>" in drawn

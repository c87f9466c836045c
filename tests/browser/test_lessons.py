"""The page of a lesson: a reader opens a way and sees how it ends; with the keyboard, and without scripts."""

from tests.browser.conftest import Opened
from zabcheck.papers.lessons import LESSONS


def test_a_way_is_opened_with_the_keyboard(opened: Opened) -> None:
    right, wrong = (way.label for way in LESSONS["quorum"].ways)
    with opened("lesson", 360, java_script_enabled=False) as page:
        answers = page.get_by_text("This does")
        assert not any(answer.is_visible() for answer in answers.all())
        page.get_by_text(right).focus()
        page.keyboard.press("Enter")
        assert [answer.inner_text() for answer in answers.all() if answer.is_visible()] == ["This does it."]
        assert page.get_by_text("The same choices break nothing without this bug.").first.is_visible()
        page.get_by_text(wrong).focus()
        page.keyboard.press("Space")
        assert [answer.inner_text() for answer in answers.all() if answer.is_visible()][1:] == ["This does not do it."]

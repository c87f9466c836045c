"""Text that others wrote, made safe for a terminal and for the log of a CI system."""

import json

import pytest

from zabcheck.text.words import as_document, clean, cut_between_words

OBEYED = [
    "\x1b[31m",
    "\x7f",
    "\x80",
    "\x85",
    "\x9b31m",
    "\u061c",
    "\u200e",
    "\u2028",
    "\u202e",
    "\u2066",
    "\U000e0001",
    "\r",
]


@pytest.mark.parametrize("value", OBEYED)
def test_json_holds_nothing_that_a_terminal_obeys_and_means_the_same(value: str) -> None:
    document = as_document({value: [f"a{value}b⟨1,2⟩"]})
    assert all(line.isprintable() for line in document.decode().splitlines())
    assert len(document.decode().splitlines()) == 5
    assert "⟨1,2⟩" in document.decode()
    assert json.loads(document) == {value: [f"a{value}b⟨1,2⟩"]}


@pytest.mark.parametrize("value", ["##[error]x", "a ##vso[task.complete]x", "##teamcity[x]", "###[group]"])
def test_no_value_is_a_command_within_a_line(value: str) -> None:
    document = as_document([value])
    assert json.loads(document) == [value]
    for shown in (clean(value), clean(f"{value}\x1b"), document.decode()):
        assert not any(command in shown for command in ("##[", "##vso[", "##teamcity["))


def test_other_texts_stay_as_they_are() -> None:
    assert clean("std::vector ## heading #[x]") == "std::vector ## heading #[x]"


def test_a_long_text_loses_whole_words_and_a_long_word_its_middle() -> None:
    """Else half of one value and half of another look like a value."""
    assert cut_between_words("Append([Entry(1, v1) Entry(1, v2) Entry(2, v3)])", 36) == "Append([Entry(1, v1) … v3)])"
    assert cut_between_words("Copy " + "x" * 40, 20) == "Copy xxxxxxxx…xxxxxx"
    assert cut_between_words("a b c", 5) == "a b c"

"""Why choices are not done: which of them did nothing, and which an exact execution cannot go on after."""

import pytest

from zabcheck.zookeeper.run.undone import LessKept, NoAnswer, NobodyLeads, NotApplicable, NotDone, NothingCame, OnlySome


@pytest.mark.parametrize(
    ("undone", "words", "idle", "ends_exact"),
    [
        (NotApplicable("it is up"), "passed over: it is up", True, True),
        (NothingCame("no such packet came"), "no such packet came", True, True),
        (OnlySome(0, "nothing is answered"), "only 0 of them: nothing is answered", True, True),
        (OnlySome(17, "nothing is answered"), "only 17 of them: nothing is answered", False, False),
        (NoAnswer(), "some writes have no answer", False, False),
        (NobodyLeads(), "nobody leads", False, True),
        (LessKept(2, "too little"), "the power failure of server 2: too little", False, True),
    ],
)
def test_a_choice_that_is_not_done_says_what_that_means(
    undone: NotDone, words: str, idle: bool, ends_exact: bool
) -> None:
    assert (str(undone), undone.idle, undone.ends_exact) == (words, idle, ends_exact)

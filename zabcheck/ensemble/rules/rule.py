"""What a rule of Zab is: a function that is handed a packet that was sent, and what is known of its iteration."""

from collections.abc import Callable
from typing import NamedTuple

from zabcheck.ensemble.records import Sent
from zabcheck.ensemble.rules.knowledge import Claim, JudgedConnection


class Wrong(NamedTuple):
    """What a packet should have been, and what it was. Each ends a sentence: "expected …", "seen …".

    `claim`: what the same server said before, and what this packet contradicts.
    """

    expected: str
    seen: str
    claim: Claim | None = None


def followers(number: int) -> str:
    """So many of them, for a reader."""
    return "1 follower" if number == 1 else f"{number} followers"


Check = Callable[[JudgedConnection, Sent], Wrong | None]


class Rule(NamedTuple):
    """One rule. `step` is that of DSN 2011, IV; `sentence` says the rule for a reader."""

    name: str
    step: str
    sentence: str
    check: Check


def rule(step: str, sentence: str) -> Callable[[Check], Rule]:
    """Makes a rule of the function that checks it: of a packet just sent, before it is noted in the iteration."""

    def make(check: Check) -> Rule:
        return Rule(getattr(check, "__name__", ""), step, sentence, check)

    return make

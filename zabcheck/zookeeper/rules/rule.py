"""The form of a rule: a function of a packet and of the knowledge about its connection, which says what is wrong."""

from collections.abc import Callable
from typing import NamedTuple

from zabcheck.zookeeper.recording.records import Sent
from zabcheck.zookeeper.rules.knowledge import Claim, JudgedConnection


class Gap(NamedTuple):
    """A PROPOSAL of `zxid` to a follower whose history ends with `after`, which it should not follow.

    `leaves_out`: transactions between the two are known to be left out; else the follower has too much before it.
    """

    after: int
    zxid: int
    leaves_out: bool


class Wrong(NamedTuple):
    """The packet that was expected, and the one that was seen: the ends of the sentences "expected …" and "seen …".

    `claim`: what the same server said before and this packet contradicts, if that is what is wrong. `gap`: where the
    history that a leader brings is not one.
    """

    expected: str
    seen: str
    claim: Claim | None = None
    gap: Gap | None = None


def followers(number: int) -> str:
    """The number of followers, for a reader."""
    return "1 follower" if number == 1 else f"{number} followers"


Check = Callable[[JudgedConnection, Sent], Wrong | None]


class Rule(NamedTuple):
    """One rule. `step` is the step of DSN 2011, IV; `sentence` says the rule to a reader.

    `counts_a_quorum`: it cannot be judged where it is not known which servers are a quorum.
    """

    name: str
    step: str
    sentence: str
    check: Check
    counts_a_quorum: bool = False


def rule(step: str, sentence: str, counts_a_quorum: bool = False) -> Callable[[Check], Rule]:
    """Make a rule of the function that checks a packet which was just sent, and is not noted yet."""

    def make(check: Check) -> Rule:
        return Rule(getattr(check, "__name__", ""), step, sentence, check, counts_a_quorum)

    return make

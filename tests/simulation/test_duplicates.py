"""Messages that come twice, where a protocol says that its channels duplicate them; and a bug that needs one."""

import pytest
from msgspec import structs

import zabcheck
from invariants.quorums import Quorums
from tests.simulation.chatter import CHATTER, connected
from zabcheck.counterexample.explain import explain_replay
from zabcheck.counterexample.forms.mermaid import to_mermaid
from zabcheck.explore.exploration import explore
from zabcheck.protocols.adapter import register
from zabcheck.protocols.environment import Environment
from zabcheck.search.minimise import minimise
from zabcheck.search.run import PropertyBroken, Search, replay_on
from zabcheck.search.settings import SETTINGS
from zabcheck.search.swarm import find
from zabcheck.simulation.choices import Cut, Duplicate

TWICE = Environment(duplicates=True, never=("quiesce",))
ECHOING = structs.replace(CHATTER, name="echoing", environment=Environment(duplicates=True))


def test_a_copy_of_the_next_message_goes_behind_the_last_one() -> None:
    chat = connected(2, protocol=ECHOING)
    chat.say(2, 1, "a", "b")
    assert chat.do(Duplicate(2, 1)) == [True]
    assert chat.receive_all(1, 2) == ["a", "b", "a"]


def test_only_a_message_that_waits_comes_twice_also_on_a_link_that_is_cut() -> None:
    chat = connected(2, protocol=ECHOING)
    assert chat.do(Duplicate(2, 1), Duplicate(2, 3), Duplicate(1, 1)) == [False] * 3
    chat.say(2, 1, "a")
    assert chat.do(Cut(2, 1), Duplicate(2, 1)) == [True, True]
    assert chat.simulator.waiting() == []


def test_no_message_comes_twice_on_other_channels() -> None:
    chat = connected(2)
    chat.say(2, 1, "a")
    assert chat.do(Duplicate(2, 1)) == [False]
    assert chat.receive_all(1, 2) == ["a"]


def test_the_weights_have_the_same_sum() -> None:
    others = SETTINGS.weights_with_duplicates
    assert sum(others.values()) == sum(SETTINGS.weights.get(name, 0) for name in others)


class Join(zabcheck.Message):
    epoch: int


class NewEpoch(zabcheck.Message):
    epoch: int


class Ack(zabcheck.Message):
    epoch: int


class Careful(zabcheck.Process):
    """A leader is ready once a quorum has promised an epoch that none of a quorum had promised before."""

    messages = (Join, NewEpoch, Ack)
    durable = ("epoch",)
    environment = TWICE

    epoch = 0
    joined: dict[int, int] = {}  # noqa: RUF012  # copied before each step
    proposed = 0
    acks: tuple[int, ...] = ()

    def on_elected(self, leader: int) -> None:
        self.joined, self.proposed, self.acks = {}, 0, ()
        self.send(leader, Join(self.epoch))

    def on_join(self, sender: int, m: Join) -> None:
        if not self.proposed:
            self.joined[sender] = m.epoch
            if self.is_quorum(self.joined):
                self.proposed = max(self.joined.values()) + 1
                for member in self.joined:
                    self.send(member, NewEpoch(self.proposed))

    def on_new_epoch(self, sender: int, m: NewEpoch) -> None:
        if m.epoch > self.epoch:
            self.persist(epoch=m.epoch)
            self.send(sender, Ack(m.epoch))

    def on_ack(self, sender: int, m: Ack) -> None:
        self.acks = (*self.acks, sender)
        if self.primary is None and self.is_enough():
            self.ready(m.epoch)

    def is_enough(self) -> bool:
        return self.is_quorum(self.acks)


class Counting(Careful):
    """The same, but it counts acknowledgements, not those that acknowledge."""

    def is_enough(self) -> bool:
        return len(self.acks) > len(self.processes) // 2


class CountingOnce(Counting):
    """The same where each message comes once."""

    environment = Environment(never=("quiesce",))


def searched(own: type[zabcheck.Process], runs: int = 100) -> PropertyBroken | None:
    protocol = register(own)
    return find(Search(protocol, 5, ("epoch uniqueness",), runs=runs, rng=1, quorums=Quorums(5)))


@pytest.mark.slow
@pytest.mark.parametrize("own", [Careful, CountingOnce])
def test_nothing_breaks_without_the_bug_or_without_duplicates(own: type[zabcheck.Process]) -> None:
    assert searched(own) is None


@pytest.mark.slow
def test_a_leader_that_counts_an_acknowledgement_twice_is_found_and_shown() -> None:
    broken = searched(Counting)
    assert broken is not None
    schedule = minimise(broken.protocol, broken.schedule, "epoch uniqueness").schedule
    [copied] = [choice for choice in schedule.choices if isinstance(choice, Duplicate)]
    story = explain_replay(replay_on(broken.protocol, schedule))
    [moment] = [each for each in story.moments if each.action.endswith("comes twice")]
    assert moment.action == f"p{copied.sender} → p{copied.receiver}: the next message comes twice"
    arrived = [flight.number for flight in story.flights if flight.received is not None]
    assert len(arrived) == len(set(arrived)) + 1
    assert to_mermaid(story, {}).count("->>") == len(arrived)


def test_an_exhaustive_search_refuses_such_channels() -> None:
    with pytest.raises(ValueError, match="no message comes twice"):
        explore(Counting)

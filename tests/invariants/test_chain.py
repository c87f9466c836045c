"""A chain is a list of transactions that shares its common part, whatever its length."""

import copy
import pickle
from hashlib import blake2b
from random import Random

import pytest

from invariants import EMPTY, NO_ZXID, Chain, Txn, Zxid, chain_hash
from tests.tiers import sweep

LENGTHS = (100_000, 1_000_000)
"""Operations on long chains: recursion would overflow the stack with either."""


def ascending(rng: Random, length: int) -> list[Txn]:
    """Transactions whose zxids ascend, with gaps."""
    txns, zxid = [], Zxid(1, 0)
    for _ in range(length):
        new_epoch = rng.random() < 0.2
        zxid = (
            Zxid(zxid.epoch + rng.randint(1, 3), 1) if new_epoch else Zxid(zxid.epoch, zxid.counter + rng.randint(1, 2))
        )
        txns.append(Txn(zxid, rng.choice(("", "v", "w", "ö ⟨1,1⟩"))))
    return txns


@pytest.fixture(scope="module", params=sweep(LENGTHS, normal=LENGTHS[:1]))
def long_chain(request: pytest.FixtureRequest) -> Chain:
    return Chain.of(Txn(Zxid(1, counter), "v") for counter in range(1, request.param + 1))


@pytest.mark.parametrize("seed", range(10))
def test_it_behaves_like_a_list(seed: int) -> None:
    rng = Random(seed)
    txns = ascending(rng, rng.randint(0, 70))
    chain = Chain.of(txns)
    assert list(chain) == txns
    assert len(chain) == chain.length == len(txns)
    assert bool(chain) == bool(txns)
    assert chain.zxid == (txns[-1].zxid if txns else NO_ZXID)
    for n in range(len(txns) + 1):
        assert list(chain.prefix(n)) == txns[:n]
        assert chain.prefix(n).length == n
        assert chain.after(n) == txns[n:]
        assert chain.starts_with(chain.prefix(n))
        assert chain.prefix(n).starts_with(chain) == (n == len(txns))
    zxids = [NO_ZXID, Zxid(99, 99), *(Zxid(txn.zxid.epoch, txn.zxid.counter + d) for txn in txns for d in (-1, 0, 1))]
    for zxid in zxids:
        assert list(chain.up_to(zxid)) == [txn for txn in txns if txn.zxid <= zxid]


@pytest.mark.parametrize("seed", range(10))
def test_two_chains_compare_like_lists(seed: int) -> None:
    rng = Random(seed)
    common = ascending(rng, rng.randint(0, 20))
    last = Zxid(100, 1)
    lists = [
        common,
        common[: len(common) // 2],
        [*common, Txn(last, "v")],
        [*common, Txn(last, "w")],
        [*common, Txn(Zxid(100, 2), "v")],
        [*common[1:], Txn(last, "v")],
        common[::-1],
    ]
    for left in lists:
        for right in lists:
            assert (Chain.of(left) == Chain.of(right)) == (left == right)
            assert Chain.of(left).starts_with(Chain.of(right)) == (left[: len(right)] == right)
            if left == right:
                assert hash(Chain.of(left)) == hash(Chain.of(right))


def test_appending_leaves_the_chain_as_it_was() -> None:
    chain = EMPTY.append(Txn(Zxid(1, 1), "v"))
    left, right = chain.append(Txn(Zxid(1, 2), "v")), chain.append(Txn(Zxid(1, 2), "w"))
    assert len(chain) == 1
    assert left.previous is right.previous is chain
    assert left != right


def test_a_chain_is_no_list() -> None:
    assert Chain.of([]) == EMPTY
    assert EMPTY != []
    assert not EMPTY
    assert list(EMPTY) == []


def test_the_hash_is_the_documented_one() -> None:
    """Other programs compute it too: BLAKE2b-64 over "h epoch counter value", in 63 bits, from 0 for nothing."""
    value = 0
    chain = EMPTY
    assert chain.hash == 0
    for txn in [Txn(Zxid(1, 1), "a"), Txn(Zxid(2, 4294967295), ""), Txn(Zxid(3, 0), 'zwei Wörter "☃"')]:
        text = f"{value} {txn.zxid.epoch} {txn.zxid.counter} {txn.value}"
        digest = blake2b(bytes(text, "utf-8"), digest_size=8).digest()
        before, value = value, sum(byte << 8 * place for place, byte in enumerate(reversed(digest))) >> 1
        chain = chain.append(txn)
        assert chain.hash == chain_hash(before, txn) == value
        assert 0 <= value < 2**63


def test_the_hash_of_a_fixed_chain_never_changes() -> None:
    """It stands in trace files."""
    assert Chain.of([Txn(Zxid(1, 1), "a"), Txn(Zxid(1, 2), "b")]).hash == 2606835204773597189


def test_a_chain_reads_as_what_builds_it() -> None:
    chain = Chain.of([Txn(Zxid(1, 1), "a")])
    assert repr(chain) == "Chain.of([Txn(zxid=Zxid(epoch=1, counter=1), value='a')])"
    assert eval(repr(chain)) == chain


def test_a_copy_is_equal() -> None:
    chain = Chain.of(ascending(Random(0), 30))
    for twin in (pickle.loads(pickle.dumps(chain)), copy.deepcopy(chain)):
        assert twin == chain
        assert list(twin) == list(chain)


def test_so_many_links_can_be_pickled_compared_and_thrown_away(long_chain: Chain) -> None:
    """Link by link, without recursion."""
    twin = pickle.loads(pickle.dumps(long_chain))
    assert twin == long_chain
    assert twin.starts_with(long_chain)
    assert twin.previous != long_chain
    del twin


def test_so_many_links_can_be_written_out(long_chain: Chain) -> None:
    text = repr(long_chain)
    assert text.startswith("Chain.of([Txn(")
    assert text.count("Zxid(") == len(long_chain)


def test_finding_a_position_takes_logarithmic_time(long_chain: Chain) -> None:
    class Counting:
        """A link that counts how often it is gone through."""

        steps = 0

        def __init__(self, link: Chain) -> None:
            self.link = link

        def __getattr__(self, name: str) -> object:
            value = getattr(self.link, name)
            if isinstance(value, Chain):
                Counting.steps += 1
                return Counting(value)
            return value

    last = len(long_chain) - 1
    for length in [0, 1, 2**16 - 1, 2**16, last * 7 // 9, last]:
        Counting.steps = 0
        found = Chain.prefix(Counting(long_chain), length)  # type: ignore[arg-type]  # counts look-ups
        assert found.length == length
        assert Counting.steps <= 120
        Counting.steps = 0
        found = Chain.up_to(Counting(long_chain), Zxid(1, length))  # type: ignore[arg-type]  # counts look-ups
        assert found.length == length
        assert Counting.steps <= 120

"""States in arrays: few bytes for each, no two are mistaken for one, and their order is that of discovery."""

from random import Random

import numpy as np
import pytest

from zabcheck.explore.at_once.index import MISSING
from zabcheck.explore.states import compact as module
from zabcheck.explore.states.compact import Compact, Numbering, Tree


def test_keys_are_numbered_in_the_order_in_which_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", 64)
    rng = Random(1)
    numbering, known = Numbering(), dict[int, int]()
    for most in (50, 1 << 20, 1 << 64):
        for _ in range(20):
            keys = [rng.randrange(most) for _ in range(100)]
            new = [place for place, key in enumerate(keys) if key not in known and key not in keys[:place]]
            for key in keys:
                known.setdefault(key, len(known))
            numbers, places = numbering.add(np.array(keys, np.uint64))
            assert (numbers.tolist(), places.tolist()) == ([known[key] for key in keys], new)
    assert numbering.keys(slice(None)).tolist() == list(known)
    asked = [*known, *(key ^ 1 for key in known)]
    assert numbering.find(np.array(asked, np.uint64)).tolist() == [known.get(key, MISSING) for key in asked]


@pytest.mark.parametrize("width", range(3, 8))
def test_a_row_is_told_from_its_key_and_no_other_row_has_that_key(width: int) -> None:
    rng = Random(width)
    tree, keys = Tree(width), dict[tuple[int, ...], int]()
    for most in (3, 1 << 32):
        rows = [tuple(rng.randrange(most) for _ in range(width)) for _ in range(300)]
        keys |= zip(rows, tree.folded(np.array(rows)).tolist(), strict=True)
    assert len(set(keys.values())) == len(keys)
    assert list(map(tuple, tree.unfolded(np.array(list(keys.values()), np.uint64)).tolist())) == list(keys)


def test_states_that_are_known_keep_how_they_were_found() -> None:
    rng = Random(1)
    states, known = Compact(Tree(4)), dict[tuple[int, ...], tuple[int, ...]]()
    for _ in range(30):
        rows = [tuple(rng.randrange(6) for _ in range(4)) for _ in range(100)]
        how = [(rng.randrange(1 << 32), rng.randrange(1 << 16), rng.randrange(120)) for _ in rows]
        states.add(np.array(rows), *np.array(how).T)
        for row, each in zip(rows, how, strict=True):
            known.setdefault(row, each)
    assert list(states.rows()) == list(known)
    assert [states.how(state) for state in range(len(states))] == list(known.values())


def test_a_state_takes_at_most_32_bytes() -> None:
    """It does for each of many sizes, as room is taken in advance, with the share of the nodes that it is made of."""
    states, made = Compact(Tree(5)), 0
    for size in range(20_000, 200_000, 12_345):
        numbers = np.arange(made, size)
        processes = numbers // 3721 % 61, numbers // 61 % 61, numbers % 61
        rows = np.column_stack((*processes, numbers % 3, numbers // 226_981))
        states.add(rows, numbers, numbers % 50, numbers % 6)
        made = size
        assert len(states) == made
        assert states.bytes_used + states.tree.bytes_used <= 32 * made

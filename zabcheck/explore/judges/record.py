"""A record that knows which primaries may go on."""

from collections.abc import Hashable, Sequence
from itertools import chain

from zabcheck.invariants.events import Broadcast
from zabcheck.invariants.quorums import Quorums
from zabcheck.invariants.record import Primary, Record, Sent


class MonitorRecord(Record):
    """The record of a trace that shows when processes leave iterations."""

    def __init__(self, quorums: Quorums | None = None) -> None:
        super().__init__(quorums)
        self._proposals: tuple[tuple[int, ...], Hashable] | None = None  # for these incarnations, if it was computed

    def broadcast(self, event: Broadcast) -> None:
        super().broadcast(event)
        self._proposals = None

    def leave(self, process: int) -> None:
        """Forget the last broadcast of `process` as a primary: it never broadcasts again in those epochs."""
        for primary in [primary for primary in self._last if primary[1] == process]:
            del self._last[primary]
            self._proposals = None

    def may_go_on(self, process: int) -> bool:
        """Return True if `process` has broadcast as a primary since it left its iteration last. O(primaries)."""
        return any(primary[1] == process for primary in self._last)

    def goes_on(self, event: Broadcast) -> bool:
        """Return True if the primary of the epoch of `event` has broadcast in it and left, or others have. O(sent)."""
        primary = (event.epoch, event.process, event.incarnation)
        return primary not in self._last and any(
            sent.epoch == event.epoch for txn in self.sent for sent in self.broadcasts(txn)
        )

    def delivered_so_far(self, incarnations: Sequence[int]) -> Hashable:
        """Return the delivered sequences, and that of each process in its current incarnation. O(their number)."""
        at = tuple(
            link.hash if self.incarnation(process) == life and (link := self.position(process)) else None
            for process, life in enumerate(incarnations)
        )
        return frozenset(self.links), at

    def proposals(self, incarnations: Sequence[int]) -> Hashable:
        """Return β, as far as it matters to the next broadcast: by primary its epoch, its process, its transactions.

        The process is 0 if that incarnation is over by `incarnations`, or has left: the primary broadcasts no more.
        O(sent), or O(1) if no process broadcast or left since the last call.
        """
        if self._proposals is None or self._proposals[0] != incarnations:
            sequences: dict[Primary, list[Sent]] = {}
            for sent in chain.from_iterable(map(self.broadcasts, self.sent)):
                sequences.setdefault(sent.primary, []).append(sent)
            found = set[Hashable]()
            for (epoch, process, life), sents in sequences.items():
                goes_on = life == incarnations[process] and (epoch, process, life) in self._last
                txns = tuple(sent.txn for sent in sorted(sents, key=lambda sent: sent.rank))
                found.add((epoch, process if goes_on else 0, txns))
            self._proposals = tuple(incarnations), frozenset(found)
        return self._proposals[1]

"""The environment of a protocol's processes: its channels, and what a search may do to them.

A `Protocol` says what its processes do. This says in what world they do it, so that simulator and search need not know
which protocol they have before them.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct


class Environment(Struct, frozen=True):
    """The channels of a protocol, the choices that there are, and how often a search draws each.

    `fifo` tells whether the channels keep the order of messages; if not, a message may overtake those before it.
    `duplicates` tells whether a message may arrive twice, as it may with UDP, or with a client that tries again; a
    channel of DSN 2011, II delivers each message once.
    `whims` names the threads of processes (`Protocol.threads`) that stand for what a link may do: where everything goes
    its way, as in a `Settle`, they get no turn.
    `mesh` tells whether every process has a channel to every other from the start, so that none opens connections.
    `never` names the kinds of choices, as in a schedule, that this environment does not make.
    `moves` has the weights of the moves of a search that differ from those for Zab; 0 for a move that does not exist.
    Disks are wiped, copied and replaced by their copies only where this gives `wipe`, `backup` and `restore` weights:
    Zab promises nothing then.
    `switches` has the switches that runs draw otherwise than those of Zab: of a hundred runs how many have each value,
    as in `zabcheck.search.settings.Settings.switches`.
    `configurations` tells whether the configuration changes: then a run begins with one (`Configuration`), and clients
    ask for others.
    `rejoins` says how many of a hundred runs, of either engine, are about a process that comes back to a leader
    (`zabcheck.search.rejoining`); only for a protocol with `threads` and `vote`.
    """

    fifo: bool = True
    duplicates: bool = False
    whims: tuple[str, ...] = ()
    mesh: bool = False
    never: tuple[str, ...] = ()
    moves: Mapping[str, int] = {}
    switches: Mapping[str, Sequence[tuple[int, object]]] = {}
    configurations: bool = False
    rejoins: int = 0

    @property
    def unexplored(self) -> str:
        """The kind of protocol that an exhaustive search expects instead, and why; "" if it takes this one."""
        if self.mesh:
            return (
                "one whose processes follow whom an oracle names, as an exhaustive search knows no other; "
                "`zabcheck run` does"
            )
        if not self.fifo:
            return "channels that keep the order, as nothing overtakes in an exhaustive search; " + _OTHERS
        if self.duplicates:
            return "channels on which no message comes twice, as none does in an exhaustive search; " + _OTHERS
        return ""


_OTHERS = "`zabcheck run` knows others"

LIKE_ZAB = Environment()
"""The environment of Zab: FIFO channels, which followers open, and all faults."""

MOVES_OF_A_MESH: Mapping[str, int] = dict.fromkeys(
    ("lead", "follow", "elect", "notice", "sync", "recover", "crash", "power_loss", "snapshot", "corrupt"), 0
) | {"drain": 12, "receive": 14}
"""The `moves` of a protocol whose processes all hear each other: without oracle, connections, disks or crashes."""

NOBODY_LOOKS_AROUND = Environment(never=("quiesce",))
"""The environment of a protocol whose followers never look for another leader: it need not come to rest."""

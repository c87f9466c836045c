"""An ensemble as a schedule sees it, whether its servers are processes of their own or simulated in one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from zabcheck.zookeeper.recording.records import NotRead, Read, Record
from zabcheck.zookeeper.run.server import AS_BEFORE, Members
from zabcheck.zookeeper.wire import client as wire
from zabcheck.zookeeper.wire.jute import JuteError


class EnsembleError(Exception):
    """The ensemble does not work, as far as we know not because of the protocol. The message is one line."""


class ServerStatus(NamedTuple):
    """The answer of a server about itself: whether it leads, and in which epoch."""

    leads: bool
    epoch: int


class AnyServer(Protocol):
    """Server `number`; everything that happens to it is recorded."""

    number: int
    incarnation: int
    """-1 before it was started."""
    folder: Path
    """The folder of the recording, with the server's logs."""

    @property
    def data(self) -> Path:
        """The data directory."""

    @property
    def paused(self) -> bool:
        """True if it stands still."""

    @property
    def up(self) -> bool:
        """True if it was started, and has not ended since."""

    def kill(self, over: bool = False) -> None:
        """kill -9. Does nothing if it is not up. `over`: the run is over, so this is no fault."""

    def pause(self) -> None:
        """Let it stand still, while its connections stay open."""

    def resume(self) -> None:
        """Let it go on."""

    def wipe(self) -> None:
        """Remove what it has stored, so that it starts as a fresh one. It must not be up."""

    def log(self) -> str:
        """Return what the present incarnation has printed so far."""


class AnyNetwork(Protocol):
    """The links between servers. A link is one direction; `run.proxy` says what each method does."""

    def cut(self, sender: int, receiver: int) -> None: ...
    def mend(self, sender: int, receiver: int) -> None: ...
    def hold(self, sender: int, receiver: int, kind: str) -> None: ...
    def release(self, sender: int, receiver: int) -> None: ...
    def trap(self, sender: int, receiver: int, kind: str, victim: AnyServer) -> None: ...
    def delay(self, sender: int, receiver: int, milliseconds: int) -> None: ...
    def reset(self, one: int, other: int) -> None: ...
    def heal(self) -> None: ...
    def gate(self) -> None: ...
    def meet(self, servers: Collection[int], around: int | None = None) -> None: ...
    def under_way(self, sender: int, receiver: int, client: int) -> list[tuple[str, int | None]]: ...
    def let_through(self, sender: int, receiver: int, client: int) -> bool: ...
    def close_ends(self, server: int, peer: int, ended: bool) -> bool: ...
    def lose(self, one: int, other: int) -> None: ...
    def wait_held(self, sender: int, receiver: int, seconds: float) -> bool: ...
    def blocked(self) -> set[tuple[int, int]]: ...


class AnyClient(Protocol):
    """A client that writes, of the server with the same number."""

    number: int

    @property
    def connected(self) -> bool:
        """True while requests reach its server."""

    @property
    def outstanding(self) -> int:
        """The number of writes that wait for an answer."""

    @property
    def may_write(self) -> bool:
        """True if there is room for one more."""

    def write(self, size: int) -> None:
        """Ask for the creation of a node with `size` bytes in it; the answer is recorded when it comes."""

    def read_all(self, seconds: float) -> Read | NotRead:
        """Do a sync, then read the nodes that clients created. Takes `seconds` at most."""

    def close(self) -> None:
        """Close the connection."""


class AnySessionClient(Protocol):
    """A client whose session moves, falls silent and ends as it is told; `run.session_client` says more."""

    number: int
    server: int
    session: int
    versions: dict[str, int]
    error: JuteError | None

    @property
    def outstanding(self) -> int: ...
    @property
    def settled(self) -> bool: ...
    @property
    def next_number(self) -> int: ...
    def asked_to(self, what: str, path: str) -> int: ...
    def begins(self) -> bool: ...
    def send(
        self,
        what: str,
        paths: tuple[str, ...],
        part: wire.Part,
        version: int = -1,
        content: int = 0,
        watches: bool = False,
    ) -> bool: ...
    def move(self, server: int, port: int) -> None: ...
    def fall_silent(self) -> None: ...
    def leave(self) -> None: ...


class Ensemble(ABC):
    """Servers that vote, then `observers` that do not, then `joiners`, numbered from 1, and the network between them.

    Joiners run only once they are started with a list of servers; no other server knows them before.
    """

    observers: Sequence[int]
    joiners: Sequence[int]
    record: Callable[[Record], None]
    is_reconfigured = False
    """True once another configuration was asked for, or a server was started with another list of servers."""

    @property
    @abstractmethod
    def servers(self) -> Mapping[int, AnyServer]:
        """The servers by number."""

    @property
    @abstractmethod
    def proxy(self) -> AnyNetwork:
        """The links between them."""

    @property
    def at_first(self) -> Members:
        """The list of servers that the ensemble begins with."""
        apart = {*self.observers, *self.joiners}
        return Members(tuple(each for each in self.servers if each not in apart), tuple(self.observers))

    def has_list(self, number: int) -> bool:
        """Return True if a server has a list of servers: a joiner has one once it was started."""
        return number not in self.joiners or self.servers[number].incarnation >= 0

    def start(self, number: int, members: Members = AS_BEFORE) -> None:
        """Start a server that is not up, with another list of servers if there is one. EnsembleError if it cannot be.

        A joiner's first start has to have one.
        """
        assert members != AS_BEFORE or self.has_list(number)
        self.is_reconfigured |= members != AS_BEFORE
        self.start_with(number, members)

    @abstractmethod
    def start_with(self, number: int, members: Members) -> None:
        """Start a server, with `members` in its configuration if they are not those that it has."""

    @abstractmethod
    def served(self, number: int) -> ServerStatus | None:
        """Ask a server whether it serves clients, and as what; None if it does not."""

    @abstractmethod
    def check(self) -> None:
        """EnsembleError if the ensemble has failed, KeyboardInterrupt if the run is to stop."""

    @abstractmethod
    def client(self, number: int, session: float) -> AnyClient:
        """Let a client connect to a server, for sessions of `session` seconds."""

    @abstractmethod
    def session_client(self, number: int, server: int) -> AnySessionClient:
        """Make client `number`, whose sessions begin at `server`."""

    @abstractmethod
    def client_port(self, number: int) -> int:
        """Return the port at which a server's clients connect."""

    @abstractmethod
    def member(self, number: int, part: str, elsewhere: bool = False) -> str:
        """Return the line of a configuration that has a server take part as "participant" or "observer".

        `elsewhere`: with another port for those that follow it.
        """

    def listed(self, members: Members) -> str:
        """Return the list of servers that those have who may be reconfigured."""
        parts = {**dict.fromkeys(members.voters, "participant"), **dict.fromkeys(members.observers, "observer")}
        return "".join(f"{self.member(number, part)}\n" for number, part in sorted(parts.items()))

    @abstractmethod
    def clock(self) -> float:
        """Return the present time in seconds, for what is waited for."""

    @abstractmethod
    def now(self) -> int:
        """Return the present time in microseconds since 1970, for records."""

    @abstractmethod
    def pass_time(self) -> None:
        """Let some time go by, in which the ensemble goes on."""

    @abstractmethod
    def settle(self) -> None:
        """Let servers do what they can do at once."""

    def leader(self, other_than: Collection[int] = ()) -> int | None:
        """Find the server that serves as leader; if two do, the one of the later epoch."""
        asked = [number for number in self.servers if number not in other_than]
        found = [(served.epoch, number) for number in asked if (served := self.served(number)) and served.leads]
        return max(found)[1] if found else None

    def may_serve(self) -> list[int]:
        """Find the servers that may come to serve as things are, by who can talk to a possible leader with a quorum.

        A server can talk while it is up and does not stand still; two can while no link between them is blocked. Once
        the ensemble is reconfigured, who is a quorum is the servers' business: then each that can talk may serve.
        """
        blocked = self.proxy.blocked()
        talking = [number for number, server in self.servers.items() if server.up and not server.paused]
        if self.is_reconfigured:
            return talking
        quorums, voters = [], self.at_first.voters
        for leader in (number for number in talking if number in voters):
            following = [each for each in talking if not {(leader, each), (each, leader)} & blocked]
            if 2 * sum(each in voters for each in following) > len(voters):
                quorums.append(following)
        return [number for number in talking if any(number in quorum for quorum in quorums)]

    def slowness(self) -> float:
        """Return how many times as long the servers may take for anything as on a machine that does nothing else."""
        return 1.0

    def await_all(self, seconds: float, condition: Callable[[], bool]) -> bool:
        """Wait until `condition` holds, `seconds` at most. Return True if it does. EnsembleError as of `check`."""
        return self._await(condition, lambda: seconds)

    def await_patiently(self, seconds: float, condition: Callable[[], bool]) -> bool:
        """Wait as `await_all` does, for what just has to happen: on a busy machine longer than `seconds`."""
        return self._await(condition, lambda: seconds * self.slowness())

    def _await(self, condition: Callable[[], bool], seconds: Callable[[], float]) -> bool:
        begun = self.clock()
        while not condition():
            self.check()
            if self.clock() > begun + seconds():
                return False
            self.pass_time()
        return True

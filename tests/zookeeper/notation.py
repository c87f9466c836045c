"""Recordings in a few words: a line a record.

2>1 FOLLOWERINFO 0:0     server 2 sends it to server 1, and it is passed on at once; opens a new connection
2>1 ACKEPOCH 1:3 a=1     the data of ACKEPOCH says 1
2>1 ACK 1:4 waits        it is not passed on yet
2>1 ACK 1:4 lost         it never will be
passed 2>1               what waits on this link is passed on
closed 2>1               the newest connection of 2 to 1 is closed
start 2, wipe 2          server 2 is started, its disk is wiped
reconfigure              a client asks for another configuration
jump 1 1:2 1:8           the counter of server 1 is set, so that 1:9 comes after 1:2
"""

from zabcheck.zookeeper.recording.records import (
    AnyRecord,
    Closed,
    Ended,
    Lost,
    Opened,
    Passed,
    Reconfigures,
    Run,
    Sent,
    Started,
    Wiped,
    ZxidSet,
)

OPENING = ("FOLLOWERINFO", "OBSERVERINFO")


def packed(text: str) -> int:
    """`1:2` as ZooKeeper packs it; -1 stays."""
    if text == "-1":
        return -1
    epoch, counter = text.split(":")
    return int(epoch) << 32 | int(counter)


class Writer:
    """Makes records of lines."""

    def __init__(self, servers: int) -> None:
        self.records: list[AnyRecord] = [Run(1, "3.8.0", servers)]
        self._connections: dict[frozenset[str], int] = {}
        self._waiting: dict[tuple[str, str], list[int]] = {}
        self._packets = 0
        self._opened = 0

    @property
    def _now(self) -> int:
        return 1_000 * len(self.records)

    def line(self, text: str) -> None:
        words = text.split()
        match words:
            case ["start", server]:
                self.records.append(Started(self._now, int(server), 1))
            case ["wipe", server]:
                self.records.append(Wiped(self._now, int(server)))
            case ["reconfigure"]:
                self.records.append(Reconfigures(self._now, 11, 1, voters=(3,)))
            case ["jump", server, before, after]:
                self.records.append(ZxidSet(self._now, int(server), packed(before), packed(after)))
            case ["passed", link]:
                for packet in self._waiting.pop(ends(link), []):
                    self.records.append(Passed(self._now, packet))
            case ["closed", link]:
                self.records.append(Closed(self._now, self._connections[frozenset(ends(link))]))
            case [link, kind, zxid, *more]:
                self._packet(ends(link), kind, packed(zxid), more)
            case _:
                raise AssertionError(text)

    def _packet(self, link: tuple[str, str], kind: str, zxid: int, more: list[str]) -> None:
        sender, receiver = link
        if kind in OPENING and "again" not in more:
            self._opened += 1
            self._connections[frozenset(link)] = self._opened
            self.records.append(Opened(self._now, self._opened, int(sender), int(receiver), "quorum"))
        self._packets += 1
        epochs = [int(word[2:]) for word in more if word.startswith("a=")]
        connection = self._connections[frozenset(link)]
        self.records.append(
            Sent(
                self._now,
                self._packets,
                connection,
                int(sender),
                int(receiver),
                kind,
                zxid,
                epochs[0] if epochs else None,
            )
        )
        if "waits" in more:
            self._waiting.setdefault(link, []).append(self._packets)
        else:
            self.records.append((Lost if "lost" in more else Passed)(self._now, self._packets))


def ends(link: str) -> tuple[str, str]:
    """Sender and receiver."""
    sender, receiver = link.split(">")
    return sender, receiver


def records(*texts: str, servers: int = 3) -> list[AnyRecord]:
    """The recording that these lines say."""
    writer = Writer(servers)
    for text in texts:
        for line in text.strip().splitlines():
            writer.line(line.strip())
    return [*writer.records, Ended(1_000 * len(writer.records), True)]


DISCOVERY = """
2>1 FOLLOWERINFO 0:0
1>2 LEADERINFO 1:0
2>1 ACKEPOCH 0:0 a=0
"""
"""Server 2 promises epoch 1 to server 1."""

SYNCHRONIZATION = f"""{DISCOVERY}
1>2 DIFF 0:0
1>2 NEWLEADER 1:0
2>1 ACK 1:0
1>2 UPTODATE -1
2>1 ACK 1:0
""".replace("\n\n", "\n")
"""Server 1 leads epoch 1, server 2 follows it."""

BROADCAST = f"""{SYNCHRONIZATION}
1>2 PROPOSAL 1:1
2>1 ACK 1:1
1>2 COMMIT 1:1
1>2 PROPOSAL 1:2
2>1 ACK 1:2
1>2 COMMIT 1:2
""".replace("\n\n", "\n")
"""It has committed two transactions."""

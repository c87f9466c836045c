"""The proxy: what it does to a link, and what it says of it. Servers are sockets of the test."""

import os
import socket
import threading
import tracemalloc
from pathlib import Path
from struct import pack
from time import monotonic
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.zookeeper.packets import SIGNATURE, buffer, packet, proposal, snapshot
from tests.zookeeper.servers import PATIENCE, Pair, listener, pair, receive, silent
from zabcheck.zookeeper.recording.records import Closed, Fault, Opened, Passed, Record, Sent
from zabcheck.zookeeper.run.proxy import Port, Proxy
from zabcheck.zookeeper.wire.jute import LoggedTxn
from zabcheck.zookeeper.wire.streams import Piece, QuorumStream

ACK, COMMIT, PING = packet("ACK"), packet("COMMIT"), packet("PING")


def test_packets_pass_both_ways_and_are_recorded() -> None:
    with pair() as servers:
        one, two = servers.connection()
        one.sendall(packet("ACKEPOCH", 3, pack(">i", -1)) + ACK)
        assert receive(two, 44) == packet("ACKEPOCH", 3, pack(">i", -1)) + ACK
        two.sendall(proposal(6, "/x"))
        assert receive(one, len(proposal(6, "/x"))) == proposal(6, "/x")
    times = [record.time for record in servers.records if isinstance(record, Sent | Opened | Closed | Passed)]
    assert times == sorted(times)
    assert servers.of(Opened) == [Opened(times[0], 1, 1, 2, "quorum")]
    epoch, ack, proposed = servers.of(Sent)
    assert epoch == Sent(epoch.time, 1, 1, 1, 2, "ACKEPOCH", 3, epoch=-1, size=24)
    assert ack == Sent(ack.time, 2, 1, 1, 2, "ACK", 5, size=20)
    txn = LoggedTxn(6, 3, 7, 1, "/x", 46)
    assert proposed == Sent(proposed.time, 3, 1, 2, 1, "PROPOSAL", 6, txn=txn, size=66)
    assert servers.passed() == [1, 2, 3]
    assert [record.by for record in servers.of(Closed)] == ["proxy"]


@pytest.mark.parametrize("port", ["quorum", "election"])
def test_a_cut_goes_one_way_and_what_waits_passes_when_it_is_mended(port: Port) -> None:
    with pair() as servers:
        one, two = servers.connection(port)
        message = ACK if port == "quorum" else pack(">qq", -65536, 1) + buffer(b"1.2.3.4:5")
        one.sendall(message)
        receive(two, len(message) if port == "quorum" else 20 + len(f"127.0.0.1:{servers.proxy.port(2, 1, port)}"))
        servers.proxy.cut(1, 2)
        one.sendall(COMMIT + PING)
        one.shutdown(socket.SHUT_WR)
        two.sendall(ACK)
        assert receive(one, 20) == ACK
        if port == "quorum":
            servers.until_sent(4)
            assert [record.kind for record in servers.of(Sent)] == ["ACK", "COMMIT", "PING", "ACK"]
            assert servers.passed() == [1, 4]
        assert silent(two)
        servers.proxy.mend(1, 2)
        assert receive(two, 40) == COMMIT + PING
        assert two.recv(1) == b""
        two.sendall(PING)
        assert receive(one, 20) == PING, "only one direction has ended"
    assert [(fault.what, fault.sender, fault.receiver) for fault in servers.of(Fault)] == [
        ("cut", 1, 2),
        ("mend", 1, 2),
    ]
    assert servers.lost() == []


def test_a_cut_is_of_all_connections_of_a_link_whoever_opened_them() -> None:
    with pair() as servers:
        one, two = servers.connection()
        other_one, other_two = servers.connection()
        servers.proxy.cut(2, 1)
        for sock in (two, other_two):
            sock.sendall(COMMIT)
        servers.until_sent(2)
        one.sendall(ACK)
        assert receive(two, 20) == ACK
        assert silent(one)
        assert silent(other_one)
        servers.proxy.heal()
        assert receive(one, 20) == receive(other_one, 20) == COMMIT


def test_a_hold_stops_one_kind_and_what_is_behind_it() -> None:
    with pair() as servers:
        one, two = servers.connection()
        servers.proxy.hold(2, 1, "COMMIT")
        two.sendall(PING + COMMIT + PING)
        assert receive(one, 20) == PING
        assert servers.proxy.wait_held(2, 1, PATIENCE)
        servers.until_sent(3)
        one.sendall(COMMIT)
        assert receive(two, 20) == COMMIT
        assert silent(one)
        servers.proxy.release(2, 1)
        assert receive(one, 40) == COMMIT + PING
        two.sendall(COMMIT)
        assert receive(one, 20) == COMMIT, "a hold is cleared when it is released"
        assert not servers.proxy.wait_held(2, 1, 0)
    assert [(fault.what, fault.kind) for fault in servers.of(Fault)] == [("hold", "COMMIT"), ("release", "")]


def test_it_is_noticed_when_a_packet_comes_to_stand_at_the_hold() -> None:
    with pair() as servers:
        _, two = servers.connection()
        servers.proxy.delay(2, 1, 100)
        servers.proxy.hold(2, 1, "COMMIT")
        two.sendall(PING + COMMIT)
        servers.until_sent(2)
        began = monotonic()
        assert servers.proxy.wait_held(2, 1, PATIENCE)
        assert monotonic() - began < PATIENCE
        assert servers.passed() == [1]


def test_the_ack_of_newleader_can_be_held() -> None:
    with pair() as servers:
        one, two = servers.connection()
        servers.proxy.hold(1, 2, "ACK-LD")
        first, second = packet("ACK", 1 << 32), packet("ACK", 1 << 32, b"")
        one.sendall(packet("ACK", 7) + first + second)
        assert receive(two, 20) == packet("ACK", 7)
        assert servers.proxy.wait_held(1, 2, PATIENCE)
        servers.proxy.hold(1, 2, "ACK")
        assert receive(two, 20) == first
        assert servers.proxy.wait_held(1, 2, PATIENCE)
        assert silent(two)
        servers.proxy.heal()
        assert receive(two, 20) == second


def test_a_snapshot_is_held_before_its_first_byte() -> None:
    data = packet("SNAP") + snapshot([(b"/a", SIGNATURE)]) + packet("NEWLEADER")
    with pair() as servers:
        one, two = servers.connection()
        servers.proxy.hold(2, 1, "SNAP")
        two.sendall(data)
        assert servers.proxy.wait_held(2, 1, PATIENCE)
        servers.until_sent(2)
        assert silent(one)
        servers.proxy.release(2, 1)
        assert receive(one, len(data)) == data
    assert [(sent.kind, sent.size) for sent in servers.of(Sent)] == [("SNAP", len(data) - 20), ("NEWLEADER", 20)]


def test_a_link_is_blocked_while_it_is_cut_or_holds_a_packet() -> None:
    with pair() as servers:
        _, two = servers.connection()
        assert servers.proxy.blocked() == set()
        servers.proxy.cut(1, 2)
        assert servers.proxy.blocked() == {(1, 2)}
        servers.proxy.hold(2, 1, "COMMIT")
        assert servers.proxy.blocked() == {(1, 2)}, "nothing is held yet"
        two.sendall(ACK + COMMIT)
        assert servers.proxy.wait_held(2, 1, PATIENCE)
        assert servers.proxy.blocked() == {(1, 2), (2, 1)}
        servers.proxy.mend(1, 2)
        servers.proxy.release(2, 1)
        assert servers.proxy.blocked() == set()


def test_a_delay_keeps_the_order() -> None:
    with pair() as servers:
        one, two = servers.connection()
        servers.proxy.delay(1, 2, 60)
        one.sendall(ACK + COMMIT)
        servers.until_sent(2)
        one.sendall(PING)
        assert receive(two, 60) == ACK + COMMIT + PING
        sent = {record.packet: record.time for record in servers.of(Sent)}
        assert all(record.time - sent[record.packet] >= 55_000 for record in servers.of(Passed))
        assert servers.passed() == [1, 2, 3]
        servers.proxy.delay(1, 2, 10_000_000)
        one.sendall(ACK)
        servers.until_sent(4)
        servers.proxy.heal()
        assert receive(two, 20) == ACK
    assert [(fault.what, fault.kind) for fault in servers.of(Fault)] == [
        ("delay", "60"),
        ("delay", "10000000"),
        ("heal", ""),
    ]


def test_a_large_snapshot_passes_while_it_is_sent_in_little_memory() -> None:
    nodes = 100
    value = SIGNATURE * (75_000)  # about 1 MB
    with pair() as servers:
        one, two = servers.connection()

        def send() -> None:
            begin, end = snapshot().removesuffix(buffer(b"/") + SIGNATURE), buffer(b"/") + SIGNATURE
            two.sendall(packet("SNAP") + begin)
            part = buffer(b"/a") + buffer(value) + bytes(68)
            for _ in range(nodes):
                two.sendall(part)
            two.sendall(end + packet("NEWLEADER"))

        tracemalloc.start()
        sending = threading.Thread(target=send)
        sending.start()
        size = len(packet("SNAP") + snapshot()) + nodes * len(buffer(b"/a") + buffer(value) + bytes(68))
        left = size + 20
        while left:
            part = one.recv(min(left, 1 << 18))
            assert part
            left -= len(part)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        sending.join()
        servers.until_sent(2)
    assert peak < 20 << 20
    assert size > 100 << 20
    assert [(sent.kind, sent.size) for sent in servers.of(Sent)] == [("SNAP", size), ("NEWLEADER", 20)]
    assert servers.passed() == [1, 2]


def open_files() -> int:
    return len(os.listdir("/dev/fd"))


def test_nothing_is_open_after_it_is_closed() -> None:
    before = open_files(), threading.active_count()
    servers = Pair()
    servers.connection("quorum")
    servers.connection("election")
    servers.proxy.cut(1, 2)
    servers.call()
    servers.until(lambda: len(servers.of(Opened)) == 3)
    servers.close()
    assert servers.proxy.error is None
    assert (open_files(), threading.active_count()) == before
    assert len(servers.of(Closed)) == 3
    servers.proxy.close()


def test_an_error_of_its_own_is_seen() -> None:
    def record(record: Record) -> None:
        if isinstance(record, Opened):
            raise OSError("no space left")

    with listener() as port:
        ports = port.getsockname()[1], port.getsockname()[1]
        port.listen()
        proxy = Proxy({1: ports, 2: ports}, record)
        proxy.start()
        with socket.create_connection(("127.0.0.1", proxy.port(1, 2, "quorum"))) as sock:
            sock.sendall(ACK)
            with port.accept()[0] as accepted:
                assert receive(accepted, 20) == ACK, "the servers see nothing of it"
        proxy.close()
    assert str(proxy.error) == "no space left"


def test_an_error_in_a_connection_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def feed(stream: QuorumStream, data: bytes) -> list[Piece]:
        raise ValueError("a bug")

    monkeypatch.setattr(QuorumStream, "feed", feed)
    servers = Pair()
    one, _ = servers.connection()
    one.sendall(ACK)
    servers.until_closed()
    servers.close()
    assert str(servers.proxy.error) == "a bug"


def test_there_may_be_no_port_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zabcheck.zookeeper.run.proxy.LOOPBACK", "192.0.2.1")
    proxy = Proxy({1: (1, 2), 2: (3, 4)}, [].append)
    with pytest.raises(OSError, match=r"192\.0\.2\.1"):
        proxy.start()
    proxy.close()


def test_only_this_machine_is_listened_to() -> None:
    """On Linux /proc has the addresses of all listening sockets."""
    table = Path("/proc/net/tcp")
    with pair() as servers:
        ports = {f"{servers.proxy.port(1, 2, port):04X}" for port in ("quorum", "election")}
        assert len(ports) == 2
        if table.exists():
            listening = [line.split()[1] for line in table.read_text(encoding="ascii").splitlines()[1:]]
            found = {tuple(address.split(":")) for address in listening if address.split(":")[1] in ports}
            assert {address for address, _ in found} == {"0100007F"}


def test_a_trap_is_sprung_once_when_its_packet_is_read_and_the_packet_passes() -> None:
    with pair() as servers:
        one, two = servers.connection()
        sprung: list[int] = []
        servers.proxy.trap(1, 2, "ACK", cast(Any, SimpleNamespace(kill=lambda: sprung.append(len(servers.passed())))))
        one.sendall(PING + ACK + ACK + COMMIT)
        assert receive(two, 80) == PING + ACK + ACK + COMMIT
        assert sprung == [0]
    assert [(fault.what, fault.sender, fault.receiver, fault.kind) for fault in servers.of(Fault)] == [
        ("trap", 1, 2, "ACK")
    ]


def test_it_ends_while_connections_are_accepted() -> None:
    """asyncio drops a connection that it was accepting when the port was closed, and tells nobody."""
    busy, go_on = threading.Event(), threading.Event()

    def be_busy() -> None:
        busy.set()
        go_on.wait(PATIENCE)

    with pair() as servers:
        servers.connection()
        servers.proxy._loop.call_soon_threadsafe(be_busy)
        busy.wait(PATIENCE)
        servers.call()
        later = threading.Timer(0.05, go_on.set)  # by then it is told to end, before it looks at its ports
        later.start()
        servers.proxy.close()
        later.join()


def is_closed(sock: socket.socket) -> bool:
    """Wait until the other side has closed this connection, in good order or not; return True if it has."""
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_gate_lets_packets_of_zab_pass_one_by_one_and_others_freely() -> None:
    with pair() as servers:
        servers.proxy.gate()
        one, two = servers.connection()
        one.sendall(PING + packet("ACK", 1 << 32) + PING + COMMIT)
        servers.until_sent(4)
        assert receive(two, len(PING)) == PING
        assert silent(two)
        assert servers.proxy.under_way(1, 2, client=1) == [("ACK", 1 << 32), ("COMMIT", 5)]
        assert servers.proxy.under_way(1, 2, client=2) == servers.proxy.under_way(2, 1, client=1) == []
        assert servers.proxy.let_through(1, 2, client=1)
        assert receive(two, len(ACK + PING)) == packet("ACK", 1 << 32) + PING
        assert silent(two)
        servers.proxy.heal()
        assert receive(two, len(COMMIT)) == COMMIT
        assert not servers.proxy.let_through(1, 2, client=1)


def test_behind_a_gate_the_end_of_a_connection_waits_until_it_is_noticed() -> None:
    with pair() as servers:
        servers.proxy.gate()
        one, two = servers.connection()
        two.sendall(ACK)
        servers.until_sent(1)
        assert not servers.proxy.close_ends(2, 1, ended=True), "the other end is open"
        assert servers.proxy.close_ends(1, 2, ended=False)
        assert is_closed(one)
        assert silent(two)
        assert servers.lost() == [1]
        assert servers.proxy.close_ends(2, 1, ended=True)
        assert is_closed(two)


def test_a_lost_connection_brings_nothing_and_neither_end_is_told() -> None:
    with pair() as servers:
        servers.proxy.gate()
        one, two = servers.connection()
        one.sendall(ACK)
        servers.until_sent(1)
        servers.proxy.lose(1, 2)
        assert servers.lost() == [1]
        assert servers.proxy.under_way(1, 2, client=1) == []
        assert not servers.proxy.let_through(1, 2, client=1)
        assert silent(one)
        assert silent(two)
        assert servers.proxy.close_ends(2, 1, ended=True)


def test_behind_a_gate_only_those_elect_that_meet() -> None:
    with pair() as servers:
        one, two = servers.connection("election")
        servers.proxy.gate()
        for each in (one, two):
            assert is_closed(each)
        assert is_closed(servers.call("election"))
        servers.proxy.meet((1, 2))
        one, two = servers.connection("election")
        two.sendall(b"a vote")
        assert receive(one, 6) == b"a vote"
        servers.proxy.meet((1, 2), 1)
        two.sendall(b"another")
        assert receive(one, 7) == b"another"
        servers.proxy.meet((1, 2), 3)
        assert is_closed(one)

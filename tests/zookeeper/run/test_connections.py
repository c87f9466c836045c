"""Connections through the proxy: how they open, end, are reset, and what becomes of what is on its way."""

import asyncio
import errno
import socket
from struct import pack

import pytest

from tests.zookeeper.packets import buffer, packet
from tests.zookeeper.processes import until
from tests.zookeeper.servers import PATIENCE, listener, pair, receive, silent
from zabcheck.zookeeper.recording.records import Closed, Opened, Sent, Undecoded
from zabcheck.zookeeper.run.connections import End
from zabcheck.zookeeper.run.links import BOUND
from zabcheck.zookeeper.run.proxy import Proxy

ACK, COMMIT, PING = packet("ACK"), packet("COMMIT"), packet("PING")


@pytest.mark.parametrize("direction", [(1, 2), (2, 1)])
def test_a_new_connection_waits_behind_a_cut(direction: tuple[int, int]) -> None:
    with pair() as servers:
        servers.proxy.cut(*direction)
        one = servers.call()
        one.sendall(ACK)
        servers.until_sent(1)
        assert servers.passed() == []
        servers.proxy.mend(*direction)
        assert receive(servers.accept(), 20) == ACK


def test_what_waits_is_lost_when_its_receiver_is_gone() -> None:
    with pair() as servers:
        one, two = servers.connection()
        servers.proxy.cut(1, 2)
        one.sendall(ACK + COMMIT)
        servers.until_sent(2)
        two.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, pack("ii", 1, 0))
        two.close()
        assert one.recv(1) == b""
        servers.until_closed()
        assert servers.lost() == [1, 2]
        assert servers.passed() == []
        assert [record.by for record in servers.of(Closed)] == ["server"]


def test_what_a_dead_sender_has_sent_arrives_and_then_its_end() -> None:
    with pair() as servers:
        one, two = servers.connection()
        servers.proxy.cut(1, 2)
        one.sendall(ACK + COMMIT[:7])
        servers.until_sent(1)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, pack("ii", 1, 0))
        one.close()
        pings = 0
        while not servers.lost():
            two.sendall(PING)
            pings += 1
            servers.until_sent(1 + pings)
        assert silent(two), "nobody tells the other end while the link is cut"
        servers.proxy.mend(1, 2)
        assert receive(two, 20) == ACK
        assert receive(two, 7) == COMMIT[:7], "what is no whole packet was sent, too"
        assert two.recv(1) == b""
        servers.until_closed()
        assert [record.by for record in servers.of(Closed)] == ["client"]


def test_what_waits_is_lost_at_once_though_nobody_is_told() -> None:
    with pair() as servers:
        one, two = servers.connection()
        servers.proxy.cut(1, 2)
        servers.proxy.cut(2, 1)
        one.sendall(ACK)
        servers.until_sent(1)
        two.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, pack("ii", 1, 0))
        two.close()
        servers.until(lambda: servers.lost() == [1])
        assert silent(one)
        assert servers.of(Closed) == []


def test_a_connection_whose_ends_have_both_finished_is_closed() -> None:
    with pair() as servers:
        one, two = servers.connection()
        one.shutdown(socket.SHUT_WR)
        two.shutdown(socket.SHUT_WR)
        assert one.recv(1) == two.recv(1) == b""
        servers.until_closed()


def test_a_reset_closes_both_ports_and_loses_what_waits() -> None:
    with pair() as servers:
        ends = [*servers.connection("quorum"), *servers.connection("election")]
        servers.proxy.cut(1, 2)
        ends[0].sendall(ACK)
        servers.until_sent(1)
        servers.proxy.reset(2, 1)
        for end in ends:
            with pytest.raises(ConnectionResetError):
                end.recv(1)
        servers.until_closed(2)
        assert servers.lost() == [1]
        assert [record.by for record in servers.of(Closed)] == ["proxy", "proxy"]
        servers.proxy.mend(1, 2)
        one, two = servers.connection()
        one.sendall(ACK)
        assert receive(two, 20) == ACK


def test_a_reset_reaches_a_connection_that_is_being_opened() -> None:
    with pair(listening=False) as servers:
        one = servers.call()
        one.sendall(ACK)
        servers.until_sent(1)
        servers.proxy.reset(1, 2)
        with pytest.raises(ConnectionResetError):
            one.recv(1)
        servers.until_closed()
        assert servers.lost() == [1]


def test_a_server_that_boots_is_tried_until_it_listens() -> None:
    with pair(listening=False) as servers:
        one = servers.call()
        one.sendall(ACK)
        servers.until_sent(1)
        servers.listen()
        assert receive(servers.accept(), 20) == ACK


def test_a_server_that_boots_may_be_slow_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zabcheck.zookeeper.run.links.BOUND", 8 << 20)
    data = packet("PROPOSAL", 5, bytes(1 << 20)) * 7
    with pair(listening=False) as servers:
        one = servers.call()
        one.sendall(data)
        servers.until_sent(7)
        servers.listen()
        two = servers.accept()
        servers.until(lambda: servers.passed() != [])
        one.sendall(PING)
        assert receive(two, len(data)) == data
        assert receive(two, 20) == PING
        assert servers.of(Closed) == []


def test_small_packets_are_passed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nagle's algorithm, with the delayed ACK of the other end, would cost 40 ms a write."""
    sockets: list[socket.socket] = []

    def kept() -> socket.socket:
        sockets.append(socket.socket())
        return sockets[-1]

    monkeypatch.setattr("zabcheck.zookeeper.run.connections.new_socket", kept)
    with pair() as servers:
        one, two = servers.connection()
        one.sendall(ACK)
        assert receive(two, 20) == ACK
        assert [sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0 for sock in sockets] == [True]


def test_a_client_may_give_up_before_the_server_listens() -> None:
    with pair(listening=False) as servers:
        one = servers.call()
        one.sendall(ACK)
        servers.until_sent(1)
        one.close()
        servers.until_closed()
        assert servers.lost() == [1]
        assert [record.by for record in servers.of(Closed)] == ["client"]


def test_a_call_that_finds_itself_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """While nobody listens, the system may give the caller the very port that it calls, and connect it to itself."""
    with listener() as free:
        target = free.getsockname()[1]
    own: list[socket.socket] = []

    def of_that_port() -> socket.socket:
        sock = socket.socket()
        if not own:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(("127.0.0.1", target))
        own.append(sock)
        return sock

    monkeypatch.setattr("zabcheck.zookeeper.run.connections.new_socket", of_that_port)
    proxy = Proxy({1: (1, 1), 2: (target, target)}, lambda _: None)
    proxy.start()
    with socket.create_connection(("127.0.0.1", proxy.port(1, 2, "quorum")), PATIENCE) as one:
        one.sendall(ACK)
        until(lambda: len(own) >= 2)
        with socket.create_server(("127.0.0.1", target)) as server:
            server.settimeout(PATIENCE)
            with server.accept()[0] as two:
                assert receive(two, 20) == ACK
    proxy.close()
    assert proxy.error is None


def test_the_first_election_message_leads_back_to_the_proxy() -> None:
    with pair() as servers:
        one, two = servers.connection("election")
        one.sendall(pack(">qq", -65536, 1) + buffer(b"127.0.0.1:3888") + b"rest")
        back = f"127.0.0.1:{servers.proxy.port(2, 1, 'election')}".encode()
        expected = pack(">qq", -65536, 1) + buffer(back) + b"rest"
        assert receive(two, len(expected)) == expected
    assert servers.of(Sent) == []


def test_what_cannot_be_decoded_passes_and_is_said() -> None:
    with pair() as servers:
        one, two = servers.connection()
        one.sendall(ACK + b"\x16\x03\x01\x02\x00")
        assert receive(two, 25) == ACK + b"\x16\x03\x01\x02\x00"
        two.sendall(packet("PROPOSAL", 5, b"?") + ACK)
        assert receive(one, 41) == packet("PROPOSAL", 5, b"?") + ACK
    reasons = [(record.sender, record.reason) for record in servers.of(Undecoded)]
    assert reasons[0] == (1, "from byte 20 on: the type of a packet is 369295618")
    assert reasons[1][1].startswith("packet 2, PROPOSAL: ")
    assert [record.kind for record in servers.of(Sent)] == ["ACK", "PROPOSAL", "ACK"]


@pytest.mark.parametrize("cut", [True, False])
def test_waiting_data_is_bounded(cut: bool) -> None:
    """Behind a cut, or before a receiver that does not read, the sender has to wait in the end."""
    with pair() as servers:
        one, two = servers.connection()
        if cut:
            servers.proxy.cut(1, 2)
        part = packet("PROPOSAL", 5, bytes(100_000))
        sent = bytearray()
        one.settimeout(1)
        try:
            while len(sent) < 200 * BOUND:
                size = one.send((part * 2)[len(sent) % len(part) :][: len(part)])
                sent += (part * 2)[len(sent) % len(part) :][:size]
        except TimeoutError:
            pass
        assert len(sent) < 100 * BOUND
        if cut:
            assert sum(record.size for record in servers.of(Sent)) <= BOUND + (1 << 20)
            servers.proxy.mend(1, 2)
        assert receive(two, len(sent)) == sent


def test_an_end_that_cannot_be_told_of_is_no_error_of_the_proxy() -> None:
    """Its other side has reset the connection, and asyncio has not heard of it: the system then refuses to close it."""

    class Refusing(asyncio.Transport):
        ended = 0

        def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
            assert high == 0

        def is_closing(self) -> bool:
            return False

        def write_eof(self) -> None:
            self.ended += 1
            raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")

    with pair(listening=False) as servers:
        servers.call()
        servers.until(lambda: servers.of(Opened) != [])
        [connection] = servers.proxy._open.values()
        end, transport = End(connection, "server"), Refusing()
        end._transport = transport
        end.finish()
        assert transport.ended == 1
        assert servers.proxy.error is None

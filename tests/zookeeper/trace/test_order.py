"""The order in which a recording is gone through: each server's own, by time between them, sending before receiving."""

from pathlib import Path

from zabcheck.zookeeper.recording.records import AnyRecord, Fault, Lost, Run, Sent, Started, Stopped
from zabcheck.zookeeper.trace.incarnations import Incarnation, SortedRecording
from zabcheck.zookeeper.trace.moments import Moment, PacketReceived, PacketSent
from zabcheck.zookeeper.trace.order import Bound, Turn, in_order
from zabcheck.zookeeper.trace.server_log import ServerLog


def packet(number: int, sender: int, receiver: int) -> Sent:
    return Sent(0, number, 1, sender, receiver, "ACK", 0)


def incarnation(server: int, started: int, ended: int, *moments: Moment) -> Incarnation:
    log = ServerLog(f"server-{server}.0.log")
    return Incarnation(server, 0, Started(started, server, 0), log, ended=Stopped(ended, server), moments=[*moments])


def order(*incarnations: Incarnation, outside: tuple[AnyRecord, ...] = ()) -> list[str]:
    whole = SortedRecording(
        Run(1, "3.8.0", 3), [*outside], {each.server: [each] for each in incarnations}, True, [], Path()
    )
    return [words(turn) for turn in in_order(whole)]


def words(turn: Turn) -> str:
    match turn.what:
        case Bound():
            return f"{turn.server} {turn.what.value}"
        case Moment(what=PacketSent(sent)):
            return f"{turn.server} sends {sent.packet}"
        case Moment(what=PacketReceived(sent)):
            return f"{turn.server} receives {sent.packet}"
    return type(turn.what).__name__.lower()


def test_between_servers_and_the_network_time_decides() -> None:
    one = incarnation(1, 10, 40, Moment(20, PacketSent(packet(1, 1, 2))))
    two = incarnation(2, 5, 35, Moment(30, PacketReceived(packet(1, 1, 2))))
    assert order(one, two, outside=(Fault(25, "cut", 1, 2),)) == [
        "2 begin",
        "1 begin",
        "1 sends 1",
        "fault",
        "2 receives 1",
        "2 end",
        "1 end",
    ]


def test_each_server_keeps_its_own_order_whatever_the_times_say() -> None:
    one = incarnation(1, 50, 40, Moment(30, PacketSent(packet(1, 1, 2))), Moment(20, PacketSent(packet(2, 1, 2))))
    assert order(one) == ["1 begin", "1 sends 1", "1 sends 2", "1 end"]


def test_a_message_is_not_received_or_lost_before_it_is_sent() -> None:
    one = incarnation(1, 0, 100, Moment(50, PacketSent(packet(1, 1, 2))), Moment(60, PacketSent(packet(2, 1, 2))))
    two = incarnation(2, 0, 100, Moment(20, PacketReceived(packet(1, 1, 2))), Moment(21, PacketSent(packet(3, 2, 1))))
    three = incarnation(3, 0, 100, Moment(30, PacketReceived(packet(3, 2, 1))))
    assert order(one, two, three, outside=(Lost(10, 2), Fault(11, "cut", 1, 2))) == [
        "1 begin",
        "2 begin",
        "3 begin",
        "fault",
        "1 sends 1",
        "2 receives 1",
        "2 sends 3",
        "3 receives 3",
        "1 sends 2",
        "lost",
        "1 end",
        "2 end",
        "3 end",
    ]


def test_messages_that_wait_for_each_other_in_a_circle_do_not_stop_it() -> None:
    one = incarnation(1, 0, 100, Moment(20, PacketReceived(packet(2, 2, 1))), Moment(30, PacketSent(packet(1, 1, 2))))
    two = incarnation(2, 0, 100, Moment(25, PacketReceived(packet(1, 1, 2))), Moment(30, PacketSent(packet(2, 2, 1))))
    assert order(one, two)[2:-2] == ["1 receives 2", "1 sends 1", "2 receives 1", "2 sends 2"]


def test_what_nobody_is_known_to_have_sent_waits_for_nothing() -> None:
    assert order(incarnation(2, 0, 100, Moment(20, PacketReceived(packet(1, 1, 2))))) == [
        "2 begin",
        "2 receives 1",
        "2 end",
    ]

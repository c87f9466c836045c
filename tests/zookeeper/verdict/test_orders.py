"""The orders of packets of a run, in which it does not matter which server is which."""

from zabcheck.search.coverage import fingerprint_of
from zabcheck.zookeeper.recording.records import AnyRecord, Passed, Sent
from zabcheck.zookeeper.verdict.orders import orders_of


def sent(packet: int, connection: int, sender: int, receiver: int, kind: str) -> list[AnyRecord]:
    return [Sent(packet, packet, connection, sender, receiver, kind, 0), Passed(packet, packet)]


def test_orders_are_of_three_packets_at_a_server_and_of_no_ping() -> None:
    records = [
        *sent(1, 7, 1, 2, "PROPOSAL"),
        *sent(2, 7, 1, 2, "PING"),
        *sent(3, 7, 2, 1, "ACK"),
        *sent(4, 8, 1, 3, "COMMIT"),
    ]
    proposal, answer, commit = ("PROPOSAL", True, False), ("ACK", False, True), ("COMMIT", True, False)
    assert {each for each in orders_of(records) if each[0] == proposal} == {
        (proposal,),
        (proposal, answer),
        (proposal, answer, commit),
    }
    renamed = [*sent(1, 5, 3, 1, "PROPOSAL"), *sent(3, 5, 1, 3, "ACK"), *sent(4, 6, 3, 2, "COMMIT")]
    assert orders_of(records) == orders_of(renamed)


def test_a_packet_on_its_way_has_not_been_received() -> None:
    one, other = sent(1, 7, 1, 2, "PROPOSAL"), sent(2, 8, 3, 2, "FOLLOWERINFO")
    assert orders_of([one[0], other[0], one[1], other[1]]) != orders_of([one[0], other[0], other[1], one[1]])


def test_orders_have_the_same_fingerprints_everywhere() -> None:
    [order] = orders_of(sent(1, 7, 1, 2, "PROPOSAL")[:1])
    assert fingerprint_of(repr(order).encode()) == 5857445204477494688

"""Plans that operators have followed, and random ones."""

from random import Random

from zabcheck.zookeeper.scaling.plan import Reconfigure, Restart, ScalePlan, Start, Stop

ONE, THREE, FOUR, FIVE = (1,), (1, 2, 3), (1, 2, 3, 4), (1, 2, 3, 4, 5)
SWAPPED = (1, 2, 4)
TO_FOUR = (Start(4, FOUR), *(Restart(each, FOUR) for each in THREE))
TO_FIVE = (Start(4, FIVE), Start(5, FIVE), *(Restart(each, FIVE) for each in THREE))
JOIN = (Start(4, THREE, (4,)), Start(5, THREE, (5,)))


def plan(*steps, voters=THREE, zookeeper="3.9.5", **settings) -> ScalePlan:
    return ScalePlan(1, zookeeper, voters, steps, **settings)


def reconfigured(*steps, **settings) -> ScalePlan:
    return plan(*steps, reconfig_enabled=True, **settings)


PLANS: dict[str, tuple[ScalePlan, list[tuple[str, int, str]]]] = {
    "three to five at once": (plan(*TO_FIVE), [("lost write", 3, "")]),
    "three to five, a server at a time": (plan(*TO_FOUR, Start(5, FIVE), *(Restart(s, FIVE) for s in FOUR)), []),
    "three to five, the fifth last": (plan(Start(4, FIVE), *(Restart(s, FIVE) for s in THREE), Start(5, FIVE)), []),
    "three to four": (plan(*TO_FOUR), []),
    "five to three": (
        plan(*(Restart(s, THREE) for s in THREE), Stop(4), Stop(5), voters=FIVE),
        [("lost write", 1, "")],
    ),
    "five to three, first two stop": (plan(Stop(4), Stop(5), *(Restart(s, THREE) for s in THREE), voters=FIVE), []),
    "one for another": (
        plan(Start(4, SWAPPED), *(Restart(s, SWAPPED) for s in (1, 2)), Stop(3)),
        [("lost write", 2, "")],
    ),
    "one to three": (plan(Start(2, THREE), Start(3, THREE), Restart(1, THREE), voters=ONE), [("stuck", 1, "")]),
    "3829": (plan(*TO_FOUR, zookeeper="3.6.1"), [("commits nothing", 2, "ZOOKEEPER-3829")]),
    "3829, repaired": (plan(*TO_FOUR, zookeeper="3.6.2"), []),
    "2819": (
        plan(*TO_FOUR, zookeeper="3.5.2"),
        [("overruled", step, "ZOOKEEPER-2819") for step in (2, 3, 4)],
    ),
    "2819, repaired, with 3829": (plan(*TO_FOUR, zookeeper="3.5.4"), [("commits nothing", 2, "ZOOKEEPER-3829")]),
    "before reconfigurations": (plan(*TO_FOUR, zookeeper="3.4.14"), []),
    "2865": (
        reconfigured(
            *(Start(s, THREE, (s,)) for s in (4, 5, 6)),
            *(Reconfigure(add=(s,)) for s in (4, 5, 6)),
            *(Reconfigure(remove=(s,)) for s in THREE),
            *(Stop(s) for s in THREE),
            Start(7, THREE, (7,)),
        ),
        [("stuck", 13, "")],
    ),
    "joiners of one list": (
        reconfigured(*(Start(s, (1, 4, 5), wait=False) for s in (4, 5))),
        [("lost write", 2, "")],
    ),
    "two at once by a reconfiguration": (
        reconfigured(*JOIN, Reconfigure(add=(4, 5))),
        [("lost write", 3, "pending-config")],
    ),
    "one by one by reconfigurations": (
        reconfigured(JOIN[0], Reconfigure(add=(4,)), JOIN[1], Reconfigure(add=(5,))),
        [],
    ),
    "no reconfigurations": (plan(JOIN[0], Reconfigure(add=(4,))), [("refused", 2, "")]),
    "by default in 3.5.2": (plan(JOIN[0], Reconfigure(add=(4,)), zookeeper="3.5.2"), []),
    "without joining": (reconfigured(Reconfigure(add=(4, 5, 6))), [("stuck", 1, "")]),
    "standalone": (reconfigured(Reconfigure(add=(2,)), voters=ONE), [("standalone", 1, "")]),
    "not standalone": (
        reconfigured(Start(2, ONE, (2,)), Reconfigure(add=(2,)), voters=ONE, standalone_enabled=False),
        [],
    ),
    "one is left": (reconfigured(Reconfigure(remove=(1,)), voters=(1, 2)), [("too few voters", 1, "")]),
    "an observer without a log": (
        reconfigured(Reconfigure(add=(4,)), observers=(4,), sync_enabled=False),
        [("unlogged voter", 1, "unlogged-voter")],
    ),
    "an observer with a log": (reconfigured(Reconfigure(add=(4,)), observers=(4,)), []),
    "folders that cannot be written": (
        reconfigured(
            JOIN[0],
            Reconfigure(add=(4,)),
            JOIN[1],
            Reconfigure(add=(5,)),
            Reconfigure(remove=(2,)),
            Reconfigure(remove=(3,)),
            readonly=(2, 3),
        ),
        [("lost write", 4, "unwritten-config")],
    ),
}
"""Plans of ZooKeeper's issues and of its manual: what is wrong, at which step, and the issue or bug."""


def drawn(seed: int) -> ScalePlan:
    """A plan of two to four steps with lists of the servers' own, of three or four servers."""
    rng = Random(seed)
    servers = range(1, rng.choice([3, 4, 4]) + 1)
    voters = tuple(sorted(rng.sample(servers, rng.choice([2, 3, 3]))))
    others = [
        tuple(sorted(rng.sample(servers, rng.choice([2, 3, len(servers)])))) for _ in range(rng.choice([1, 1, 2]))
    ]
    running, steps = {*voters}, []
    for _ in range(rng.randint(2, 4)):
        server, wait = rng.choice(servers), rng.random() < 0.7
        own = [each for each in (*others, voters, *others) if server in each]
        if server in running and (rng.random() < 0.15 or not own) and len(running) > 1:
            steps.append(Stop(server))
            running.discard(server)
        elif own and server not in running:
            steps.append(Start(server, own[0], wait=wait))
            running.add(server)
        elif own:
            steps.append(Restart(server, rng.choice(own), wait=wait))
    return plan(*(steps or [Restart(voters[0])]), voters=voters)

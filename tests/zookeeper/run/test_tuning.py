"""The constants by which schedules are drawn: all in one struct, which can be shown and replaced."""

import msgspec
from msgspec.structs import replace

from zabcheck.zookeeper.run.choices.points import Fail, PowerLoss
from zabcheck.zookeeper.run.choices.servers import KillAll
from zabcheck.zookeeper.run.draw import draw
from zabcheck.zookeeper.run.tuning import TUNING, Tuning

SEEDS = range(40)


def test_it_can_be_printed() -> None:
    assert "in_rounds=0.75" in str(TUNING)
    assert msgspec.json.decode(msgspec.json.encode(TUNING), type=Tuning) == TUNING


def test_what_is_drawn_follows_it() -> None:
    stages = replace(TUNING, in_rounds=0.0, stages=replace(TUNING.stages, kills_all=0.0))
    rounds = replace(TUNING, in_rounds=1.0, rounds=replace(TUNING.rounds, number=(1, 1)))
    disks = replace(stages, threads=replace(TUNING.threads, disks=1.0))
    for seed in SEEDS:
        assert not draw(seed, 3, threads=True, tuning=stages).patient
        assert KillAll() not in draw(seed, 3, threads=True, tuning=stages).choices
        assert draw(seed, 3, threads=True, tuning=rounds).patient
        choices = draw(seed, 3, threads=True, tuning=disks).choices
        assert any(isinstance(choice, Fail | PowerLoss) for choice in choices)


def test_sessions_observers_and_disks_follow_it_too() -> None:
    quiet = replace(
        TUNING,
        sessions=replace(TUNING.sessions, before_end=0.0, after_write=0.0),
        observers=replace(TUNING.observers, happens=0.0),
        disks=replace(TUNING.disks, copied=0.0, changed=0.0, fails=0.0, loses_names=0.0),
    )
    for seed in SEEDS:
        assert draw(seed, 3, sessions=True, observers=1, disks=True, tuning=quiet).choices == draw(seed, 3).choices

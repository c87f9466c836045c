"""docs/zookeeper.md, README.md, a picture and a page show a recorded run of ZooKeeper 3.8.0 that lost a write.

Other pages show one that did not, and one that cut acknowledged writes off for another reason.
"""

import pytest

from docs.generators.output import ROOT
from docs.generators.zookeeper import BLOCK, EXAMPLES, LOST_WRITE, PACKETS, PAGE, PICTURE, RUN, SCHEDULE, archived, made
from zabcheck.ensemble.run import schedule as schedules
from zabcheck.ensemble.verdict.judge import judge
from zabcheck.ensemble.verdict.known_issues import NO_NUMBER


def test_the_pages_are_up_to_date() -> None:
    for path, text in made().items():
        assert path.read_text(encoding="utf-8") == text
        assert path.suffix in (".html", ".svg") or BLOCK.search(text)
    assert f"]({PICTURE.relative_to(ROOT)})" in (ROOT / "README.md").read_text(encoding="utf-8")
    page_of_docs = PAGE.read_text(encoding="utf-8")
    assert RUN.search(page_of_docs)
    assert PACKETS.search(page_of_docs)


@pytest.mark.parametrize(
    ("name", "violated", "looks_like", "expected", "seen"),
    [
        (
            "zookeeper-applied-again",
            "final agreement",
            NO_NUMBER,
            "a history up to ⟨1,206⟩, which server 1 told with f.a = 1",
            "one up to ⟨1,154⟩",
        ),
        ("zookeeper-stale-log", "durability", "ZOOKEEPER-2846", "the proposal that follows ⟨1,9⟩", "PROPOSAL ⟨2,4⟩"),
    ],
)
def test_what_the_documentation_tells_of_a_run_is_seen_in_it(
    name: str, violated: str, looks_like: str, expected: str, seen: str
) -> None:
    with archived(name) as folder:
        judged = judge(folder)
    schedule = schedules.decode((EXAMPLES / f"{name}.schedule.json").read_bytes(), name)
    assert judged.violated[0] == schedule.finds == violated
    assert judged.zookeeper == schedule.zookeeper
    assert [each.issue.key for each in judged.known] == [looks_like]
    first = judged.steps.divergences[0]
    assert (first.expected, first.seen) == (expected, seen)
    assert judged.schedule is not None
    assert schedules.converted(judged.schedule).choices == schedule.choices


def test_the_recorded_run_executed_the_schedule_beside_it() -> None:
    recorded = judge(LOST_WRITE)
    schedule = schedules.decode((ROOT / SCHEDULE).read_bytes(), SCHEDULE)
    assert recorded.violated[0] == schedule.finds == "durability"
    assert recorded.zookeeper == schedule.zookeeper == "3.8.0"
    assert recorded.schedule is not None
    assert schedules.converted(recorded.schedule).choices == schedule.choices

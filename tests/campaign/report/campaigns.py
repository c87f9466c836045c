"""A small report of a campaign, and one that is as bad as can be; and the golden files.

After an intended change of the output, write the golden files anew and read the difference:

    python -c "from tests.campaign.report.campaigns import write_golden; write_golden()"
"""

from pathlib import Path
from typing import Any

import msgspec

from zabcheck.campaign.report import terminal as campaign
from zabcheck.campaign.results import (
    BrokenRow,
    CampaignReport,
    DistributionRow,
    GoalRow,
    GrowthRow,
    HistogramRow,
    MutantRow,
    Overview,
    PropertyRow,
    RaisedRow,
    Saturation,
    SettingRow,
    Tables,
)
from zabcheck.text.pen import text_of

GOLDEN = Path(__file__).parent / "golden"

PLAN: dict[str, Any] = {
    "protocol": "zab",
    "mutants": [None, "no-truncation"],
    "seed": 1,
    "steps": 200,
    "processes": None,
    "quorums": None,
    "switches": {},
}
FINDING: dict[str, Any] = {
    "mutant": "no-truncation",
    "property": "primary integrity",
    "runs": 52,
    "run": 4,
    "seed": "11400714819323198489",
    "steps": 18,
    "summary": "p2 broadcast v3⟨2,1⟩ before it had delivered v1⟨1,1⟩",
    "schedule": "zab-no-truncation-primary-integrity-1a2b3c4d.schedule.json",
    "report": "zab-no-truncation-primary-integrity-1a2b3c4d.txt",
}
TABLES = Tables(
    overview=(Overview(800, 4, 4, 800, 171859, 128001, 7012, 21344, 3888, 3901, 25, 132, 0, 400, 0, 9011, 2.987),),
    properties=(
        PropertyRow("integrity", 752, 21344, 0, 0),
        PropertyRow("primary integrity", 537, 1739, 85, 52),
        PropertyRow("invariant 4", 800, 26047, 80, 80),
    ),
    goals=(
        GoalRow("three epochs", 519, 0, "leaders of three epochs were established"),
        GoalRow("truncation", 184, 3, "an initial history replaced one that was not a prefix of it"),
    ),
    growth=(
        GrowthRow(200, 4961, 4961, 187, 24805.0, 1, 34),
        GrowthRow(400, 6763, 1802, 131, 9010.0, 2, 66),
        GrowthRow(600, 8130, 1367, 119, 6835.0, 2, 98),
        GrowthRow(800, 9011, 881, 102, 4405.0, 2, 132),
    ),
    saturation=(Saturation(800, 9011, 200, 881, 102, 0.51, 0.4412, 0.5784, 4, 200, 5236, 1309.0, 20111.4),),
    mutants=(
        MutantRow(None, 400, 91223, 1.566, 0, 0.0, None, None),
        MutantRow("no-truncation", 400, 80636, 1.421, 132, 1636.986, 0.007205, 0.035441),
    ),
    broken=(
        BrokenRow("no-truncation", "invariant 4", 80, 80),
        BrokenRow("no-truncation", "primary integrity", 52, 85),
    ),
    raised=(),
    settings=(
        SettingRow(
            True,
            None,
            "move",
            "power_loss",
            "detections",
            407,
            87200,
            84,
            963.3,
            393,
            84659,
            48,
            567.0,
            1.7,
            1.19,
            2.42,
        ),
        SettingRow(
            True, None, "processes", "2", "detections", 72, 15001, 0, 0.0, 728, 156858, 132, 841.5, 0.0, 0.0, 0.35
        ),
        SettingRow(
            True,
            None,
            "switch",
            "sync atomic",
            "detections",
            111,
            23001,
            17,
            739.1,
            689,
            148858,
            115,
            772.5,
            0.96,
            0.58,
            1.58,
        ),
        SettingRow(
            False, None, "move", "crash", "new states", 196, 45003, 5450, 27.8, 204, 46220, 4720, 23.1, 1.2, 1.05, 1.38
        ),
        SettingRow(
            False,
            None,
            "switch",
            "counter_limit 1",
            "new states",
            1,
            204,
            30,
            30.0,
            399,
            91019,
            10140,
            25.4,
            1.18,
            0.0,
            None,
        ),
    ),
    distributions=(
        DistributionRow("steps", 16, 221, 245, 265, 275),
        DistributionRow("longest", 0, 5, 13, 21, 25),
        DistributionRow("seconds", 0.0005, 0.0033, 0.0045, 0.0076, 0.0242),
    ),
    histograms=(
        HistogramRow("steps", 16, 116, 190),
        HistogramRow("steps", 116, 216, 210),
        HistogramRow("steps", 216, 316, 400),
        HistogramRow("longest", 0, 13, 700),
        HistogramRow("longest", 13, 26, 100),
        HistogramRow("seconds", 0.0005, 0.0041, 650),
        HistogramRow("seconds", 0.0041, 0.0242, 150),
    ),
)
REPORT = CampaignReport("reports/nightly", PLAN, TABLES, [FINDING])

EVIL = "a]]>b<&>\"'|\n\r\x00\x1b[2J\u202e\ud800 [red]c[/red] $x^2$ </svg><script>d</script> é"


def worst(text: str = EVIL) -> CampaignReport:
    """Everything went wrong, and every text that somebody chose is this one."""
    replace = msgspec.structs.replace
    total = replace(TABLES.overview[0], parts=1, runs=200, raised=9, broken_as_it_is=3)
    tables = replace(
        TABLES,
        overview=(total,),
        saturation=(replace(TABLES.saturation[0], parts=1, next_part=None, reachable=None),),
        properties=tuple(PropertyRow(f"property {number} {text}", 0, 0, 0, 0) for number in range(23)),
        goals=tuple(GoalRow(f"goal {number}", 0, None, text) for number in range(14)),
        mutants=tuple(MutantRow(f"mutant {number} {text}", 9, 99, 0.1, 0, 0.0, None, None) for number in range(22)),
        broken=(BrokenRow(text, text, 1, 1),),
        raised=(RaisedRow(text, text, 9, 1),),
        settings=tuple(
            replace(row, mutant=mutant, value=f"{row.value} {text}" if row.kind != "processes" else row.value)
            for row in TABLES.settings
            for mutant in [None if row.in_all else text]
        ),
    )
    finding = {name: text if isinstance(value, str) else value for name, value in FINDING.items()}
    plan = {**PLAN, "protocol": f"mine:{text}", "processes": 3, "quorums": text, "switches": {"sync": text}}
    return CampaignReport(text, plan, tables, [finding] * 50)


def golden_texts() -> dict[str, str]:
    """Return the content that each golden file should have, by its name."""
    return {
        "campaign.100.txt": text_of(campaign.render(REPORT), 100),
        "campaign-short.100.txt": text_of(campaign.render_short(REPORT), 100),
    }


def write_golden() -> None:
    for name, text in golden_texts().items():
        (GOLDEN / name).write_text(text, encoding="utf-8")

"""The jar of the simulation, which is kept with its sources."""

import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from zabcheck.zookeeper.run.schedule import FIRST_STALL, STALLS
from zabcheck.zookeeper.simulated.simulator import JARS

SIMULATION, ASM = (Path(str(jar)) for jar in JARS)


@pytest.mark.kits
def test_the_sources_give_this_jar_byte_by_byte(tmp_path: Path) -> None:
    built = tmp_path / "simulation.jar"
    subprocess.run([sys.executable, SIMULATION.parent / "build.py", built], check=True)
    assert built.read_bytes() == SIMULATION.read_bytes()


def test_what_is_of_others_keeps_its_licence_and_meets_no_other_copy() -> None:
    with ZipFile(ASM) as jar:
        licence = jar.read("META-INF/LICENSE.txt").decode()
        others = [name for name in jar.namelist() if not name.startswith(("zabcheck/simulated/asm/", "META-INF/"))]
    assert "INRIA, France Telecom" in licence
    assert others == []
    with ZipFile(SIMULATION) as jar:
        assert [name for name in jar.namelist() if not name.startswith("zabcheck/simulated/")] == []


SOURCES = sorted(each for root in (SIMULATION.parent, Path(__file__).parent) for each in root.rglob("*.java"))


def test_sources_are_written_as_the_others_are() -> None:
    """Lines of 120 characters at most, indented by spaces; each type has a comment."""
    assert len(SOURCES) > 50
    for source in SOURCES:
        text = source.read_text(encoding="utf-8")
        assert text.endswith("\n"), source
        assert "\t" not in text, source
        assert all(len(line) <= 120 and line == line.rstrip() for line in text.splitlines()), source
        comment = r"\*/\n(@\w+.*\n)*(package|(public |final |abstract )*(class|interface|enum)) "
        assert re.search(comment, text), source


def test_a_stall_has_the_same_number_and_length_on_both_sides() -> None:
    text = (SIMULATION.parent / "src/zabcheck/simulated/schedule/Strategy.java").read_text(encoding="utf-8")
    lengths = re.search(r"STALLS = \{([0-9, ]+)\}", text)
    first = re.search(r"STALL = (\d+);", text)
    assert lengths is not None
    assert first is not None
    assert tuple(int(each) / 1000 for each in lengths[1].split(",")) == STALLS
    assert int(first[1]) == FIRST_STALL

"""docs/zookeeper-model-versions.md has the versions and defects of the model."""

from docs.generators.zookeeper_versions import MEANINGS, PAGE, SAME, made
from tests.zookeeper.model.test_search import AS_ANOTHER, DISTINCT, ERRORS, FOUND, KEPT, kept
from zabcheck.protocols.switches import parsed
from zabcheck.zookeeper.model.switches import ZooKeeperSwitches
from zabcheck.zookeeper.model.versions import COARSEST, REPAIRS, VERSIONS, Version, version_of

TEXT = PAGE.read_text(encoding="utf-8")


def rows(first: str) -> list[list[str]]:
    """The cells of the rows of the table whose first line begins so."""
    lines = TEXT[TEXT.index(first) :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_page_has_the_table_of_versions() -> None:
    assert list(MEANINGS) == list(Version.__struct_fields__)
    assert SAME == AS_ANOTHER
    assert made() == {PAGE: TEXT}


def test_the_page_names_what_is_found_and_kept() -> None:
    found = rows("| bug | release |")
    assert {bug.lower(): (release, grain) for bug, release, grain, *_ in found} == FOUND
    assert all(f"`{name}`" in TEXT for name in KEPT)
    errors = rows("| error | release |")
    assert {bug: (release, grain) for bug, release, grain, *_ in errors} == {
        name: (release, grain) for name, (release, grain, _) in ERRORS.items()
    }


def test_the_coarsest_grain_of_a_defect_is_that_in_which_it_was_found() -> None:
    halted = kept("4712-halted").switches
    assert isinstance(halted, ZooKeeperSwitches)
    grains = {bug: found[1] for bug, found in {**FOUND, **ERRORS}.items()} | {"4712": halted.grain}
    assert {bug: grain for bug, grain in grains.items() if grain != "G0"} == COARSEST


def test_a_version_that_is_as_another_has_a_name_of_its_own_only() -> None:
    for version, other in AS_ANOTHER.items():
        assert VERSIONS[version] == VERSIONS[other]
    assert len(set(map(VERSIONS.get, DISTINCT))) == len(DISTINCT)


def test_defects_are_all_none_or_one_alone() -> None:
    assert version_of("3.9.3", "all") == VERSIONS["3.9.3"]
    none = version_of("3.9.3", "none")
    alone = version_of("3.9.3", "4925")
    different = [name for name in Version.__struct_fields__ if getattr(none, name) != getattr(alone, name)]
    assert different == list(REPAIRS["4925"])
    assert version_of("3.9.5", "4925") == none, "3.9.5 has it no more"


def test_a_defect_is_named_by_its_number() -> None:
    assert parsed(["defects=2846", "version=3.9.5", "window=2"], ZooKeeperSwitches) == {
        "defects": "2846",
        "version": "3.9.5",
        "window": 2,
    }
    assert ZooKeeperSwitches().defects == "all"

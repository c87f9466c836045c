"""The releases of ZooKeeper as far as configurations that change are concerned: a row of values for each, as there."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from zabcheck.zookeeper.model import versions
from zabcheck.zookeeper.model.switches import LETTER, Defects, Release


class Changing(Struct, frozen=True):
    """The behaviour of a version. The defaults are those of 3.9.5; numbers are those of ZOOKEEPER issues.

    `counts_voters`: an epoch and its initial history take a quorum of voters; else as many servers of any kind,
    for `QuorumMaj.containsQuorum` counts them and does not look who they are (2959).
    `activates_late`: a learner activates a change that is committed between NEWLEADER and UPTODATE (2172), if that is
    the first proposal that it keeps.
    `activates_informed`: an observer that is being synchronised activates a change of which it is told by
    INFORMANDACTIVATE; else it reads the packet as INFORM (1784).
    """

    counts_voters: bool = True
    activates_late: bool = True
    activates_informed: bool = True


_V353 = Changing(counts_voters=False)
_V352 = Changing(counts_voters=False, activates_late=False)

BEFORE: Mapping[Release, Changing] = {"3.5.0": replace(_V352, activates_informed=False), "3.5.2": _V352, "3.5.3": _V353}
"""The releases that differ from 3.9.5. All later ones, and master, do not."""
RELEASES: tuple[Release, ...] = (
    *BEFORE,
    *(each for each in versions.VERSIONS if not each.startswith("3.3") if not each.startswith("3.4")),
)
"""The releases in which configurations change, and 3.9.5 with a change that was proposed."""
REPAIRS: Mapping[Defects, Mapping[str, object]] = {
    "1784": {"activates_informed": True},
    "2172": {"activates_late": True},
    "2959": {"counts_voters": True},
}
"""The values that repair each known defect."""
assert tuple(REPAIRS) == versions.OF_CHANGES


@cache
def changing_of(release: Release, defects: Defects) -> Changing:
    """Return the behaviour of `release` with all of its known defects, none of them, or only the one that is named."""
    version = BEFORE.get(release, Changing())
    if defects == "all":
        return version
    wanted = [repair for name, repair in REPAIRS.items() if name != defects]
    return replace(version, **{name: value for repair in wanted for name, value in repair.items()})


def contradiction(values: Mapping[str, Any]) -> str:
    """Return why these values of switches cannot be meant together; "" if they can."""
    release, defects = (values.get(name, getattr(LETTER, name)) for name in ("version", "defects"))
    if values.get("grain", "G0") != "G0":
        return "grain: expected G0, as the orders in which a server writes its configurations are not modelled"
    if release not in RELEASES:
        return f"version={release}: expected {RELEASES[0]} or later, as configurations do not change before"
    if defects not in REPAIRS:
        return versions.contradiction({**values, "version": versions.LIKE.get(release, release)})
    with_it = [each for each in RELEASES if changing_of(each, defects) != changing_of(each, "none")]
    if release not in with_it:
        return f"defects={defects}: version {release} does not have it, expected version={' or '.join(with_it)}"
    return ""

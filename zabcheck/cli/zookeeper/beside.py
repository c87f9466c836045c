"""Real servers beside a run of `zabcheck play`: that which it takes up, and each that the reader has them do."""

from collections.abc import Sequence
from threading import Event
from typing import NamedTuple

import msgspec

from zabcheck.cli.commands import BadInput
from zabcheck.cli.zookeeper.layer import layer_of
from zabcheck.cli.zookeeper.on_servers import compared_with_servers
from zabcheck.play.desk import ActRefused, Layer, Servers
from zabcheck.simulation.schedule import Schedule
from zabcheck.zookeeper.conformance.conform import release_of
from zabcheck.zookeeper.conformance.on_servers import CannotBeHad, as_servers_are
from zabcheck.zookeeper.model import ZOOKEEPER
from zabcheck.zookeeper.run.distribution import Distribution


class Ensemble(NamedTuple):
    """Servers of a build, `simulated` or processes. Once `stop` is set, what they do ends soon."""

    distribution: Distribution
    simulated: bool
    stop: Event

    def done(self, schedule: Schedule, file: str) -> tuple[Schedule, Layer]:
        """Have the servers do a run once; return it as they had it, and what they did. `file` is for messages.

        BadInput if they cannot do it; StepRaised as in `Simulator`.
        """
        told = compared_with_servers(schedule, file, 1, self.distribution, self.simulated, self.stop)
        return layer_of(msgspec.json.encode(told), "the servers", schedule, file)

    def first(self, schedule: Schedule, switch: Sequence[str]) -> Schedule:
        """Return a run without a choice that these servers can have; `switch` has the settings that were asked for.

        BadInput if there is none.
        """
        release = release_of(self.distribution.version)
        if schedule.protocol != ZOOKEEPER.name or release is None:
            other = f"ZooKeeper {self.distribution.version}" if release is None else f"`{schedule.protocol}`"
            raise BadInput(f"--on-zookeeper: expected a run of the model `{ZOOKEEPER.name}`, found {other}")
        if not any(each.startswith("version=") for each in switch):
            switches = msgspec.structs.replace(schedule.switches, version=release)
            schedule = msgspec.structs.replace(schedule, switches=switches)
        try:
            return as_servers_are(schedule, release)
        except CannotBeHad as error:
            raise BadInput(f"--on-zookeeper: {error}") from None

    def to_be_asked(self) -> Servers:
        """Return these servers as a desk has them."""

        def execute(schedule: Schedule) -> Layer:
            try:
                return self.done(schedule, "the run")[1]
            except BadInput as error:
                raise ActRefused(str(error)) from None

        simulated = "simulated " if self.simulated else ""
        return Servers(f"{simulated}servers of ZooKeeper {self.distribution.version}", execute, self.stop)

"""What `zabcheck explore --master URL` needs of Spark. Only that imports pyspark."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from zabcheck.cli.commands import BadInput
from zabcheck.cli.files import bad_input_for, bad_path
from zabcheck.cli.output import doing

if TYPE_CHECKING:
    from zabcheck.explore.sharing.on_spark import Spark

STATES, CHECKPOINT = "states", "explore.checkpoint"
"""What is in the folder of a search: the folder for the states, and the checkpoint."""


@contextmanager
def spark_at(master: str | None, out: Path, resume: bool) -> Iterator["Spark | None"]:
    """Yield the Spark at `master`, for a search that has its files in `out`; None if there is no master.

    BadInput for what Spark lacks, or says while it is used, and for a search that is there, unless it is to `resume`.
    """
    if master is None:
        yield None
        return
    if not resume and (out / STATES).exists():
        raise BadInput(f"--out {out}: holds the states of a search already; --resume goes on with it")
    try:
        from pyspark.errors import PySparkException

        from zabcheck.campaign.session import NoSpark, session
        from zabcheck.campaign.spark_errors import one_line
        from zabcheck.explore.sharing.on_spark import Spark
        from zabcheck.java import NoJava
    except ImportError as error:
        raise BadInput(f"--master: this needs Spark: pip install 'zabcheck[spark]' ({error})") from None
    with bad_path("--out", out):
        (out / STATES).mkdir(parents=True, exist_ok=True)
    with bad_input_for(NoJava), bad_input_for(NoSpark):
        with doing("starting Spark"):
            started = session(master)
        try:
            yield Spark(started, (out / STATES).absolute())
        except PySparkException as error:
            raise BadInput(f"--master {master}: {one_line(error)}; --resume goes on from the last level") from None

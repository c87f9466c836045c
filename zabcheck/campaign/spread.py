"""Numbered pieces of work, spread over what Spark has: one task a piece.

A piece leaves a file when it is done, and that is how the driver knows: it looks into the folder while Spark works, so
progress can be shown wherever the tasks run, and a piece whose file is there is never made again.
"""

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from typing import TYPE_CHECKING

import pyarrow as pa

from zabcheck.search.run import collect_garbage_less_often

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SECONDS = 0.3
"""How long to wait between two looks into the folder."""


class TaskFailed(Exception):
    """A task failed, each time that Spark tried it. The message is one line."""


def spread(
    spark: "SparkSession",
    pieces: Sequence[int],
    worker: Callable[[], Callable[[int], None]],
    look: Callable[[], None],
) -> None:
    """Do every piece. `worker` is called once in each task, and what it returns with each piece.

    A module that is only in the current directory is found by the tasks if they can read that, too.

    `look` is called now and then, and once more at the end; what it raises ends the work.
    TaskFailed if a piece failed as often as Spark tries it.
    """
    if not pieces:
        look()
        return
    numbered = spark.range(0, len(pieces), 1, len(pieces))
    done = numbered.mapInArrow(_task(list(pieces), worker, os.getcwd()), "piece long")
    with ThreadPoolExecutor(1) as thread:
        working = thread.submit(done.collect)
        try:
            while not working.done():
                wait_for([working], _SECONDS)
                look()
        except BaseException:
            spark.interruptAll()
            raise
    try:
        working.result()
    except Exception as error:
        raise TaskFailed(_line(error)) from error
    look()


def _task(
    pieces: list[int], worker: Callable[[], Callable[[int], None]], here: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if here not in sys.path:
            sys.path.insert(0, here)
        collect_garbage_less_often()
        work = worker()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                work(pieces[number])
                yield pa.RecordBatch.from_pydict({"piece": pa.array([pieces[number]], pa.int64())})

    return task


def _line(error: Exception) -> str:
    """The last line of the traceback of a worker, which Spark hands on as text; else the first line of the error."""
    text = str(error)
    found = re.findall(r"^(?:[\w.]+\.)?(\w+(?:Error|Exception|Failed)): (.+)$", text, re.MULTILINE)
    own = [message for name, message in found if name in ("StoreError", "ValueError")]
    if own:
        return str(own[-1])
    return ": ".join(found[-1]) if found else text.strip().partition("\n")[0]

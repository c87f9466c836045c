"""Errors of Spark in one line; the texts are Spark's own, shortened."""

import pytest

from zabcheck.campaign.spark_errors import one_line

WORKER = """Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times, most recent failure: Lost task 0.3 in
stage 0.0 (TID 3): org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "zabcheck/campaign/store.py", line 236, in errors
    raise StoreError(f"{self.path(name)}: {reason}") from None
zabcheck.campaign.store.StoreError: out/runs: No space left on device

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:645)
Caused by: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
"""
DIED = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "zabcheck/zookeeper/simulated/simulator.py", line 190, in command
    raise SimulatorDied(f"the simulation failed: {reason}")
zabcheck.zookeeper.simulated.simulator.SimulatorDied: the simulation failed: it has ended

JVM stacktrace:
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
"""
BARE = DIED.replace(
    "zabcheck.zookeeper.simulated.simulator.SimulatorDied: the simulation failed: it has ended", "EOFError"
)
NO_PYTHON = """An error occurred while calling o42.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 0.0 failed 4 times
\tat java.base/java.lang.Thread.run(Thread.java:840)
Caused by: java.io.IOException: Cannot run program "/nowhere/python": error=2, No such file or directory
\tat java.base/java.lang.ProcessBuilder.start(ProcessBuilder.java:1143)
Caused by: java.io.IOException: error=2, No such file or directory
\t... 1 more
"""
SUBMIT = """Exception in thread "main" org.apache.spark.SparkException: When running with master 'yarn' either X or Y.
\tat org.apache.spark.deploy.SparkSubmitArguments.error(SparkSubmitArguments.scala:668)
"""
GRPC = """<_MultiThreadedRendezvous of RPC that terminated with:
\tstatus = StatusCode.UNAVAILABLE
\tdetails = "Socket closed"
\tdebug_error_string = "UNKNOWN:Error received from peer"
>"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (WORKER, "out/runs: No space left on device"),
        (DIED, "SimulatorDied: the simulation failed: it has ended"),
        (BARE, "EOFError"),
        (NO_PYTHON, 'IOException: Cannot run program "/nowhere/python": error=2, No such file or directory'),
        (SUBMIT, "SparkException: When running with master 'yarn' either X or Y."),
        (GRPC, "Socket closed"),
        ("Answer from Java side is empty", "Answer from Java side is empty"),
        ("first line\nsecond line", "first line"),
        ("", "RuntimeError"),
    ],
)
def test_the_line_that_tells(text: str, line: str) -> None:
    assert one_line(RuntimeError(text)) == line

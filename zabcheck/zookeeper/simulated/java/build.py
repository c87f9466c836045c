"""Builds simulation.jar from src/: the same sources and the same JDK give the same bytes. Needs a JDK.

    python zabcheck/zookeeper/simulated/java/build.py [OUT]

asm.jar is ASM under another name; tools/Relocate.java says how it is made.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_STORED, ZipFile, ZipInfo

HERE = Path(__file__).parent
RELEASE = "11"
"""The oldest Java that runs it."""


def build(out: Path) -> None:
    """Compile the sources, and write the jar. CalledProcessError if they do not compile without a warning."""
    sources = sorted(str(path.relative_to(HERE)) for path in (HERE / "src").rglob("*.java"))
    with TemporaryDirectory() as folder:
        command = ["javac", "--release", RELEASE, "-g:source,lines", "-encoding", "UTF-8", "-proc:none", "-Werror"]
        command += ["-Xlint:all,-options,-serial,-processing", "-cp", "asm.jar", "-d", folder, *sources]
        subprocess.run(command, cwd=HERE, check=True)
        classes = sorted(path.relative_to(folder).as_posix() for path in Path(folder).rglob("*.class"))
        with ZipFile(out, "w", ZIP_STORED) as jar:
            for name in classes:
                jar.writestr(ZipInfo(name, (2000, 1, 1, 0, 0, 0)), Path(folder, name).read_bytes())


if __name__ == "__main__":
    build(Path(sys.argv[1]).absolute() if len(sys.argv) > 1 else HERE / "simulation.jar")

"""The classes of a class path, read without Java: in jars, in folders, and in all jars of a folder (`lib/*`).

Further jars that a jar's manifest names are not read: ZooKeeper's server is in one jar.
"""

import os
import zipfile
import zlib
from functools import lru_cache
from pathlib import Path

from zabcheck.text.files import content, regular
from zabcheck.zookeeper.debugger.class_file import ClassFile, ClassFileError, read_class

MOST_BYTES = 1 << 24
"""The longest class that is read."""
SERVER = "org/apache/zookeeper/server/"
"""The package of the server's classes."""
_VERSION = "org/apache/zookeeper/version/Info"


class ClassPathError(Exception):
    """A jar or a class cannot be read. The message is one line, with the name of the file."""


class ClassPath:
    """The jars and folders of `classpath`, which is written as for Java. A class is read when it is first needed."""

    def __init__(self, classpath: str) -> None:
        self.classpath = classpath
        self.read = lru_cache(maxsize=None)(self._read)

    def version(self) -> str:
        """Return the version of ZooKeeper ("3.9.5"). ClassPathError if there is no ZooKeeper."""
        found = self.read(_VERSION)
        try:
            return ".".join(str(found.numbers[part]) for part in ("MAJOR", "MINOR", "MICRO"))
        except KeyError:
            raise ClassPathError(f"{self.classpath}: expected a version of ZooKeeper, found none") from None

    def _read(self, name: str) -> ClassFile:
        """Read the class of this name ("java/io/File"): the first on the path. ClassPathError if there is none."""
        for entry in self._entries():
            try:
                data = _bytes(entry, f"{name}.class")
                if data is not None:
                    return read_class(data)
            except ClassFileError as error:
                raise ClassPathError(f"{entry}: {name}.class: {error}") from None
            except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
                raise ClassPathError(f"{entry}: expected a jar, found a file that cannot be read: {error}") from None
            except OSError as error:
                raise ClassPathError(f"{entry}: {error.strerror or error}") from None
        raise ClassPathError(f"{self.classpath}: expected a class {name.replace('/', '.')}, found none")

    def _entries(self) -> list[Path]:
        entries: list[Path] = []
        for each in self.classpath.split(os.pathsep):
            if each.endswith("*"):
                entries += sorted(Path(each[:-1]).glob("*.jar"))
            elif each:
                entries.append(Path(each))
        return entries


def _bytes(entry: Path, name: str) -> bytes | None:
    """Return a file of a folder or a jar, None if it is not there."""
    if entry.is_dir():
        return content(entry / name, MOST_BYTES) if (entry / name).exists() else None
    with regular(entry) as file, zipfile.ZipFile(file) as jar:
        if name not in jar.NameToInfo:
            return None
        with jar.open(name) as inner:
            data = inner.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ClassFileError(f"expected at most {MOST_BYTES:,} bytes")
    return data

"""Classes are found as Java finds them, and what is wrong with a jar is one line."""

import os
import zipfile
from pathlib import Path

import pytest

from tests.zookeeper import real
from tests.zookeeper.debugger.assembled import RETURN, Assembler, Made
from zabcheck.zookeeper.debugger.class_path import SERVER, ClassPath, ClassPathError


def klass(name: str, method: str) -> bytes:
    """A class with one method."""
    return Assembler().finished(name, [Made(method, RETURN)])


def jar(path: Path, **classes: bytes) -> Path:
    """A jar with these classes, in a package p."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in classes.items():
            file.writestr(f"p/{name}.class", data)
    return path


def method_of(classpath: str, name: str = "p/A") -> str:
    """The name of the only method of a class."""
    [method] = ClassPath(classpath).read(name).methods
    return method.name


def test_the_first_entry_that_has_a_class_gives_it(tmp_path: Path) -> None:
    first = jar(tmp_path / "first.jar", A=klass("p/A", "a"))
    second = jar(tmp_path / "second.jar", A=klass("p/A", "other"), B=klass("p/B", "b"))
    (tmp_path / "classes/p").mkdir(parents=True)
    (tmp_path / "classes/p/C.class").write_bytes(klass("p/C", "c"))
    path = os.pathsep.join(map(str, [first, second, tmp_path / "classes"]))
    assert [method_of(path, name) for name in ("p/A", "p/B", "p/C")] == ["a", "b", "c"]
    assert method_of(f"{tmp_path}/*") == "a"


def test_a_class_that_is_nowhere(tmp_path: Path) -> None:
    path = jar(tmp_path / "a.jar", A=klass("p/A", "a"))
    with pytest.raises(ClassPathError, match=r"a\.jar: expected a class p\.B, found none"):
        ClassPath(str(path)).read("p/B")


def test_a_jar_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.jar"
    path.write_bytes(b"not a jar")
    with pytest.raises(ClassPathError, match=r"a\.jar: expected a jar"):
        ClassPath(str(path)).read("p/A")


def test_a_jar_with_a_damaged_byte(tmp_path: Path) -> None:
    path = jar(tmp_path / "a.jar", A=klass("p/A", "a"))
    data = bytearray(path.read_bytes())
    data[60] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(ClassPathError, match=r"a\.jar: expected a jar"):
        ClassPath(str(path)).read("p/A")


def test_a_class_that_is_cut_off(tmp_path: Path) -> None:
    path = jar(tmp_path / "a.jar", A=klass("p/A", "a")[:50])
    with pytest.raises(ClassPathError, match=r"a\.jar: p/A\.class: expected a whole class file, found 50 bytes"):
        ClassPath(str(path)).read("p/A")


def test_a_jar_that_may_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(ClassPathError, match=r"gone\.jar: No such file"):
        ClassPath(str(tmp_path / "gone.jar")).read("p/A")


def test_the_version_is_that_of_the_jars_of_pyspark() -> None:
    classes = ClassPath(real.classpath())
    [jar] = [each for each in real.classpath().split(os.pathsep) if Path(each).name.startswith("zookeeper-3")]
    assert f"zookeeper-{classes.version()}.jar" == Path(jar).name
    assert classes.read(f"{SERVER}quorum/Learner").name == f"{SERVER}quorum/Learner"


def test_a_version_without_numbers(tmp_path: Path) -> None:
    folder = tmp_path / "org/apache/zookeeper/version"
    folder.mkdir(parents=True)
    (folder / "Info.class").write_bytes(Assembler().finished("org/apache/zookeeper/version/Info", []))
    with pytest.raises(ClassPathError, match="expected a version of ZooKeeper, found none"):
        ClassPath(str(tmp_path)).version()

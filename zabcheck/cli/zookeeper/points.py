"""`zabcheck zookeeper points`: lists the places in ZooKeeper's threads at which a schedule can stop one."""

from typing import Annotated

import typer

from zabcheck.cli.commands import Format, Formats, command_of
from zabcheck.cli.files import bad_input_for
from zabcheck.cli.output import make_console, print_json
from zabcheck.cli.verdict import OK
from zabcheck.cli.zookeeper.builds import Classpath, Home, check_one
from zabcheck.cli.zookeeper.command import zookeeper
from zabcheck.zookeeper.debugger.catalogue import CATALOGUE
from zabcheck.zookeeper.debugger.class_path import ClassPath, ClassPathError
from zabcheck.zookeeper.debugger.points import PointError, find, located
from zabcheck.zookeeper.report import points as reports
from zabcheck.zookeeper.run.distribution import NoZooKeeper, classpath_of


def _completed(incomplete: str) -> list[str]:
    return [name for name in CATALOGUE if name.startswith(incomplete)]


@command_of(zookeeper)
def points(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[POINT]...", help="Only these, each of which has to be there.", autocompletion=_completed
        ),
    ] = None,
    home: Home = None,
    classpath: Classpath = None,
    format: Formats = Format.text,
) -> int:
    """List the places in ZooKeeper's threads that have a name, and where they are in the jars at hand."""
    check_one(home, classpath)
    with bad_input_for((NoZooKeeper, ClassPathError, PointError)):
        classes = ClassPath(classpath_of(home, classpath))
        version = classes.version()
        if names:
            found = [located(name, classes) for name in names]
        else:
            found = [find(point, classes) for point in CATALOGUE.values()]
    if format is Format.json:
        print_json("zookeeper points", zookeeper=version, points=[reports.shown(each) for each in found])
    else:
        make_console().print(reports.render(found, version))
    return OK

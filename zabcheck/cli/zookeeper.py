"""`zabcheck zookeeper`: what is done with a real ZooKeeper; each of its commands is a module of its own."""

import typer

from zabcheck.cli.commands import OK, app

zookeeper = typer.Typer(invoke_without_command=True, help="Look at a real ZooKeeper: what its servers' disks hold.")
app.add_typer(zookeeper, name="zookeeper")


@zookeeper.callback()
def ensemble(context: typer.Context) -> int:
    """Look at a real ZooKeeper: what its servers' disks hold."""
    if context.invoked_subcommand is None:
        print(context.get_help())
    return OK

"""ZooKeeper: a model of its servers, and a real ensemble on this machine, started, broken on purpose and judged.

The servers are not changed. Their broadcasts and deliveries are read from their own logs, what they sent each other
from proxies between them, what they stored from their disks, and what they answered from their clients.

    schedule ──> run/ ──> recording ──> trace/ ──> invariants ──> verdict/ ──> report/
                                   ├──> rules/: does each packet follow from what came before?
                                   └──> conformance/: is it a run of the model of this version?

    model/   the protocol `zookeeper`, a version each; knows nothing of the rest
    simulated/   servers in one JVM and in virtual time, in place of the processes of run/
    wire/   the bytes between two servers, and the binary form that disks share with them
    disk/   transaction logs and snapshots; needs no ensemble
    serverlogs/   servers' own log files; needs no ensemble
    clients/   the promises to clients, and their histories: a module for each kind of promise, and in screen/ a quick
        look at whole columns, which leaves to these modules whatever may be wrong
    debugger/   named places in the servers' threads
    bugs/   the bugs for which a schedule is kept, and how often it shows them
    scaling/   plans to add servers and remove them
    campaign/   campaigns on simulated servers, on Spark
"""

"""A real ZooKeeper ensemble on this machine: started, broken on purpose, recorded, and judged.

The servers are not changed. What they broadcast and delivered is read from their own logs, what they sent each other
from proxies between them, what they stored from their disks, and what they answered from their clients.

    schedule ──> run/ ──> recording ──> trace/ ──> invariants ──> verdict/ ──> report/
                                   └──> rules/: does each packet follow from what came before?

    wire/   the bytes between two servers, and the binary form that disks share with them
    disk/   transaction logs and snapshots; needs no ensemble
    debugger/   named places in the servers' threads
    bugs/   the bugs for which a schedule is kept, and how often it shows them
"""

"""A real ZooKeeper ensemble on this machine: started, broken on purpose, watched, and judged.

Nothing of the servers is changed. What they broadcast and delivered is read from their own logs, what they sent from
proxies between them, what they kept from their disks, and what they promised from their clients.

    schedule ──> execute ──> recording ──> observe ──> trace ──> invariants
                 (servers, proxy,     (a folder)   └──> steps: does each packet follow from what came before?
                  clients)
"""

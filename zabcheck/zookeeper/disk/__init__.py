"""The files that ZooKeeper's servers leave on their disks, and their meaning; usable without an ensemble."""

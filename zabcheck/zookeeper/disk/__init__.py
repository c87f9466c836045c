"""What ZooKeeper's servers leave on their disks, and what it says; usable without an ensemble."""

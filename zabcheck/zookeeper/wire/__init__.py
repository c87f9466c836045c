"""The bytes between two servers: ZooKeeper's binary form, and its packets as they arrive."""

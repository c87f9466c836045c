"""The commands about a real ZooKeeper ensemble."""

"""Tests of what is read from a real ZooKeeper ensemble."""

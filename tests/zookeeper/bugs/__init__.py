"""Tests of the catalogue of ZooKeeper's bugs."""

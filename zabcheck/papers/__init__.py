"""Runs and measurements that the papers argue with."""

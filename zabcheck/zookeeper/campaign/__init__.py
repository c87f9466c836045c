"""Campaigns on simulated servers of ZooKeeper: the plan, the work of a task, and the tables.

Storage, resuming and the tasks are those of every campaign.
"""

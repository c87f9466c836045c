"""The bugs of ZooKeeper for which a schedule is kept, and how often executions show them."""

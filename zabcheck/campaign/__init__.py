"""Campaigns: many runs of the swarm, and large traces, on Spark.

No other package uses Spark. On one machine Spark is embedded; on a cluster the same code runs
under spark-submit, Spark Connect, Kubernetes or Databricks. So the package uses nothing that only a classic driver has:
no RDD, no JVM object, no hard-coded master.
"""

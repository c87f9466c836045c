"""Campaigns: many runs of the swarm, and large traces, on Spark.

The only place that knows Spark. On one machine it is embedded; on a cluster the same code runs under spark-submit,
Spark Connect, Kubernetes or Databricks. So there is nothing here that only a classic driver has: no RDD, no JVM object,
no master that is written down.
"""

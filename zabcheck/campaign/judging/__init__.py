"""Stored traces, judged on Spark."""

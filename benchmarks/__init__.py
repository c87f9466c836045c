"""Measurements of what zabcheck costs and what it finds, in CPU seconds: `python -m benchmarks [NAME...]`."""

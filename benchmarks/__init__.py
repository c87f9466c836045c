"""What zabcheck costs and what it finds, measured in CPU seconds: `python -m benchmarks [NAME...]`."""

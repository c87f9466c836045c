"""The states that were visited: one by one (`visited`), in arrays (`compact`), in files (`spilled`), in checkpoints."""

"""The states that were visited: in arrays (`compact`), in files (`spilled`), in checkpoints."""

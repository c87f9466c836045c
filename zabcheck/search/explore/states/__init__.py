"""The states that were visited: in memory, in arrays, in files, and in a checkpoint."""

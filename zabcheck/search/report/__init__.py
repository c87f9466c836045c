"""The results of a search as tables."""

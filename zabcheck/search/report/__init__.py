"""What a search has seen, as tables."""

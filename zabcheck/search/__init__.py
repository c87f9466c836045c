"""Searches for a run that breaks a property."""

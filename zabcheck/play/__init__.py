"""A run that a person takes up at any step and goes on with, and everything that was tried beside it."""

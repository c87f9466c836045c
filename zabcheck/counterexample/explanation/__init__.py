"""Explains why a property is broken, in sentences about this very run."""

"""Operators' logs of servers."""

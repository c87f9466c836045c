"""The nodes that clients and sessions create."""

import re

WINDOW = 100
"""Writes of one client that may wait for an answer. (kazoo would block the caller at some 280.)"""
OURS = re.compile(r"[cemr]\d")
"""The beginnings of the names of nodes that clients and sessions create."""

"""Shared by all reports: words for events, text that fits a terminal, HTML pages that stand alone."""

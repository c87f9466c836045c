"""The way from a recording of an ensemble to a trace of events."""

"""How a recording of an ensemble becomes a trace of events."""

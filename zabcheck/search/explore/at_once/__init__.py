"""The tables as arrays of numpy, and the successors of many states looked up in them at once."""

"""The tables as arrays of numpy (`arrays`), and the successors of many states looked up in them at once (`many`)."""

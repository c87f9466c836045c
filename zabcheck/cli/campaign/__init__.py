"""The commands about campaigns: `zabcheck campaign`, and `zabcheck campaign report`."""

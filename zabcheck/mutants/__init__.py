"""Known bugs, each planted as one small step that overrides the right one."""

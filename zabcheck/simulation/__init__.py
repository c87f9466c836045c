"""The simulator: processes, channels and disks, moved by choices."""

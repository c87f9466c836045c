"""Runs, packets and disks of an ensemble, as they are shown."""

"""Reports of an ensemble's runs, packets and disks."""

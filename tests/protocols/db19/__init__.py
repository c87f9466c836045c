"""The db-19 lab: its steps, its cluster, its command, and what a search finds of it."""

"""The report of a campaign, for a terminal and as a page."""

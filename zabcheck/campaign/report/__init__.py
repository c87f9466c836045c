"""What a campaign found, in a terminal and as a page."""

"""What all reports share: words for events, text that fits a terminal, HTML pages that stand alone."""

"""What everything that is shown needs: words, text that fits a terminal, pages that stand alone."""

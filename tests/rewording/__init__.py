"""Every message text is changed, and all else stays: no code reads a sentence that other code wrote."""

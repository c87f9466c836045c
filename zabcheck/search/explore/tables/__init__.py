"""What processes can do, and what properties know, found once and looked up by number from then on."""

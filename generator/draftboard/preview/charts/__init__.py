"""The kinds of panel that are pictures."""

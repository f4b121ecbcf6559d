"""What a signal asks."""

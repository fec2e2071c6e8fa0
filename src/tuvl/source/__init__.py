"""Text to data, with the place of every key and value."""

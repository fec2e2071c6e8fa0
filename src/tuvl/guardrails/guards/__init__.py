"""One guard a file."""

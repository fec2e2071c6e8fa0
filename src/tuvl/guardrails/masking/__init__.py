"""Personal data and credentials, taken out of text and of JSON."""

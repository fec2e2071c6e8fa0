"""Static checks: what is found in a file before anything runs."""

"""Templates: names are read from their syntax, and rendering is bounded and sees nothing but data."""

"""A rule a file; `ALL_RULES` is the register."""

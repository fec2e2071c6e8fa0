"""Prompts, steering, skills and policies, by name and version."""

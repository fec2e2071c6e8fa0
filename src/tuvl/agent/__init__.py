"""The bounded agent."""

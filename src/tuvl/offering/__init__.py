"""A project's tools and workflows, for others to call."""

"""A project as a bundle that runs elsewhere: what it needs, the gates before it, and the files to deploy it with."""

"""A folder on disk as one set of documents."""

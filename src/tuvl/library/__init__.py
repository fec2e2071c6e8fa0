"""tuvl from Python: an agent without files. The public names are those that `import tuvl` gives."""

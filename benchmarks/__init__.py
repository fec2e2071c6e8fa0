"""What tuvl costs: in time and memory, measured the same way every time. `make bench` writes RESULTS.md."""

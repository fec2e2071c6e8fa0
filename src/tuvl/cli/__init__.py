"""The command line: parse flags, call one function, render."""

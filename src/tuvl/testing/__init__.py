"""Fakes for the tests of people who build on tuvl."""

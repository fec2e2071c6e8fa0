"""The language: typed contracts, the JSON Schemas made from them, and the check of a document against those."""

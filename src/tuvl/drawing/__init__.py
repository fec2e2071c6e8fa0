"""Drawings of workflows as SVG and as a page: what is shown, where it stands, and how it is written down."""

"""Figures in texts, each with a comment that names its source, checked against the results."""

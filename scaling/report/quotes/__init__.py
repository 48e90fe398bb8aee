"""Figures in texts, each with a comment that says where it is from, held against the results."""

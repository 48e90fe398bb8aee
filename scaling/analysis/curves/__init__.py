"""Scaling curves: the figures of each cell along N, in sections and sweeps."""

"""Figures looked up by the name of a cell, for texts, claims and notebooks."""

"""Profiles of a cell: runs in which functions are sampled, which no study's journal has."""

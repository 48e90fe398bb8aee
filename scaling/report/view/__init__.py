"""Declared views of a study: tables, plots and notes over its tables."""

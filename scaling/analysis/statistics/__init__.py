"""Estimates with their intervals, two tests, and drift."""

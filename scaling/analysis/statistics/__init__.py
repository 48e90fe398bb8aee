"""Estimates with their intervals, verdicts, the noise floor, drift and precision."""

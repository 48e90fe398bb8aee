"""Estimates with their intervals, tests, verdicts, the noise floor and drift."""

"""Faults on purpose: after each of them no record is lost or doubled, and nothing is left behind.

`python -m tests.faults` tries all of them. They are no part of the test suite.
"""

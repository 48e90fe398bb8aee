"""Faults on purpose: after each of them no record is lost or doubled, and nothing is left behind.

`python -m tests.faults` tries all of them, `python -m tests.faults.soak` interrupts studies at
random for as long as asked. Neither is part of the test suite.
"""

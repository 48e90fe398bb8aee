"""Does the runs: a fresh child each, watched from outside, written down at once."""

"""A study made ready to be committed: packed, described, with tables and plots."""

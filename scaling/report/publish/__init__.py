"""A study made ready to be committed and shown: packed, described, told, and drawn."""

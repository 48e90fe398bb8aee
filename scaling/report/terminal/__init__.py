"""A study in the terminal, whatever that terminal can show."""

"""The study as it is asked for: file and command line, checked and filled in."""

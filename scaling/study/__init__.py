"""What is asked: a study file and the command line, checked and filled in."""

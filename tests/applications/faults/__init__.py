"""Applications that are right on one loop and wrong on several, each by one fault."""

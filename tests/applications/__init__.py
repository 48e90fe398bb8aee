"""Applications that the tests serve: real ones, and small ones with exactly one fault each."""

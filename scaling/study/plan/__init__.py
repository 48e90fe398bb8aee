"""The plan of a study: its runs and their order, their cost, and refusals with reasons."""

"""The tables of a comparison: a module for each question, with its full table and its answer."""

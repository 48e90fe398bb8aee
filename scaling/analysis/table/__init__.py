"""From the journal to a table: one row a run, with its figures and its validity."""

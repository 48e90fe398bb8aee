"""A study as five tables: `cells`, `runs`, `values`, `estimates`, `ratios`."""

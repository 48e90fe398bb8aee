"""A study for other programs: Parquet, CSV, pyperf's JSON, Markdown."""

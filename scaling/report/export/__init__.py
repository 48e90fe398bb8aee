"""A study for other programs: Parquet, CSV, pyperf's JSON, HdrHistogram's text, Markdown."""

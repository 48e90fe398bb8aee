"""The figures told as tables: on a terminal, as Markdown, as CSV."""

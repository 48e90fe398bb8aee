"""The figures as tables: on a terminal, as Markdown, as CSV."""

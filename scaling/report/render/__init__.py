"""Renderers of grids, sentences and drawings: terminal, page, Markdown. They know no study."""

"""Renderers of grids, sentences and drawings: terminal, page, Markdown. None knows a study."""

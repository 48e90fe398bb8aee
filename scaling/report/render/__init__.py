"""How grids, sentences and drawings are shown: terminal, page, Markdown. Nothing knows a study."""

"""Chapters and tables as Markdown: no text from outside can break them."""

from collections.abc import Container, Iterable, Sequence

from scaling.report.tables.grid import Cell, Chapter, Grid, word_of


def chapters_markdown(chapters: Iterable[Chapter]) -> str:
    """A section for each; empty if there is no chapter."""
    return "\n\n".join(map(_chapter, chapters))


def _chapter(chapter: Chapter) -> str:
    parts = [f"### {chapter.title}"]
    if chapter.words:
        parts.append(_listed(chapter.words))
    return "\n\n".join([*parts, *map(grid_markdown, chapter.grids)])


def grid_markdown(grid: Grid) -> str:
    """The title, the table, and its note as a list."""
    rows = [list(map(_cell, row)) for row in grid.rows]
    figures = [place for place in range(len(grid.headings)) if grid.is_figure(place)]
    table = pipe_table(list(map(unbroken, grid.headings)), rows, figures)
    title = f"**{grid.title}**" if grid.title else ""
    return "\n\n".join(filter(None, (title, table, _listed(grid.note.split("\n")))))


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {unbroken(line)}" for line in lines if line)


def _cell(cell: Cell) -> str:
    words = " ".join(filter(None, (str(cell), word_of(cell))))
    return unbroken(words.replace("\n", " · "))


def pipe_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], figures: Container[int]
) -> str:
    """A table; the columns at the places of `figures` stand to the right."""
    rules = ["---:" if place in figures else "---" for place in range(len(headings))]
    return "\n".join(f"| {' | '.join(row)} |" for row in [headings, rules, *rows])


def unbroken(text: str) -> str:
    """Text, kept from breaking the table or the list it stands in; what is code stays code."""
    plain = text if "`" in text else text.replace("*", r"\*")
    return plain.replace("|", r"\|").replace("\n", " ")

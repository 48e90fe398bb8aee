"""Tables of Markdown: cells between pipes, none of which a text from outside can break."""

from collections.abc import Container, Iterable, Sequence


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

"""What a terminal shows."""

import io
from collections.abc import Callable

from rich.console import Console


def printed(*shown: object, width: int = 80) -> str:
    """What a console of so many columns prints of these, without colours."""
    return printed_by(lambda console: console.print(*shown), width)


def printed_by(show: Callable[[Console], object], width: int = 80) -> str:
    """What `show` prints on such a console."""
    file = io.StringIO()
    show(Console(file=file, width=width, color_system=None, highlight=False))
    return file.getvalue()

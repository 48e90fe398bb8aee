"""What `datasette serve --memory` serves."""

from typing import Any

from datasette.app import Datasette


def create_app() -> Any:
    """An application with a database in memory."""
    return Datasette(memory=True).app()

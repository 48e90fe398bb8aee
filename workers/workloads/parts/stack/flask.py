"""A row as JSON, with Flask."""

from flask import Flask

from workers.workloads.parts.stack.rows import Rows


def make() -> Flask:
    """Make the application of one worker."""
    app, rows = Flask(__name__), Rows()

    @app.get("/row")
    def row() -> dict[str, object]:
        return rows.any()

    return app

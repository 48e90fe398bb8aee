"""A row as JSON, with Bottle."""

from bottle import Bottle

from workers.workloads.parts.stack.rows import Rows


def make() -> Bottle:
    """Make the application of one worker."""
    app, rows = Bottle(), Rows()

    @app.get("/row")  # type: ignore[untyped-decorator]
    def row() -> dict[str, object]:
        return rows.any()

    return app

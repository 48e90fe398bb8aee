"""A row as JSON, with Falcon."""

from falcon import App, Request, Response

from workers.workloads.parts.stack.rows import Rows


class Row:
    """The resource."""

    def __init__(self) -> None:
        self._rows = Rows()

    def on_get(self, _request: Request, response: Response) -> None:
        """Answer a GET."""
        response.media = self._rows.any()


def make() -> App[Request, Response]:
    """Make the application of one worker."""
    app = App()
    app.add_route("/row", Row())
    return app

"""The current user is a global of a WSGI application: right with processes, wrong with threads."""

from flask import Flask

current = ""

application = Flask(__name__)


@application.get("/<name>")
def greet(name: str) -> dict[str, str]:
    """Greet a user, after some work."""
    global current  # noqa: PLW0603
    current = name
    for _ in range(2_000):
        pass
    return {"greeting": f"hello {current}"}

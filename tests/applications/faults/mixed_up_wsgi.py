"""The current user is a global of a WSGI application: right with processes, wrong with threads."""

from flask import Flask

from .work import work

current = ""

application = Flask(__name__)


@application.get("/<name>")
def greet(name: str) -> dict[str, str]:
    """Greet a user, after some work."""
    global current  # noqa: PLW0603
    current = name
    work()
    return {"greeting": f"hello {current}"}

"""A global that belongs to a request, and what Flask has for it."""

import time

from flask import Flask, g

app = Flask(__name__)
mended = Flask(__name__)
current = ""


@app.get("/<name>")
def hello(name: str) -> dict[str, str]:
    """Greet by the name."""
    global current  # noqa: PLW0603
    current = name
    time.sleep(0.002)  # ask a database
    return {"greeting": f"hello {current}"}


@mended.get("/<name>")
def hello_of_request(name: str) -> dict[str, str]:
    """The same with what belongs to the request."""
    g.current = name
    time.sleep(0.002)
    return {"greeting": f"hello {g.current}"}

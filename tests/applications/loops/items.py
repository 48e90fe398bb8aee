"""What one process keeps."""

from flask import Flask

app = Flask(__name__)
items: dict[str, int] = {}


@app.post("/items/<name>")
def add(name: str) -> tuple[str, int]:
    """Keep an item."""
    items[name] = len(name)
    return "", 201


@app.get("/items/<name>")
def show(name: str) -> tuple[dict[str, int], int]:
    """Show an item."""
    return ({"length": items[name]}, 200) if name in items else ({}, 404)

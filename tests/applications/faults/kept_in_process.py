"""What one process keeps, and another does not have: an application for each function."""

import hashlib
import hmac
import secrets

from .replies import Asked, Reply, applications

items: dict[str, int] = {}
KEY = secrets.token_bytes(16)  # each process that imports this has its own


def raising(asked: Asked) -> Reply:
    """Items in a dict, and an exception where there is no such item."""
    if asked.method == "POST":
        items[asked.name] = len(asked.name)
        return Reply(201)
    return Reply(200, items[asked.name])


def signed(asked: Asked) -> Reply:
    """A log-in that is signed with the key of this process."""
    right = hmac.new(KEY, b"ada", hashlib.sha256).hexdigest()
    if asked.method == "POST":
        return Reply(200, "welcome", f"user={right}; Path=/")
    return Reply(200, "ada") if asked.cookies.get("user") == right else Reply(401)


asgi, _ = applications(raising, signed)

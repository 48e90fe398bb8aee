"""The current user is a global: nothing awaits while it is used, so one loop never mixes it up."""

from .asgi import answering
from .work import work

current = ""


def greeting() -> str:
    """Say hello to the current user, after some work."""
    work()
    return f"hello {current}"


@answering
async def application(path: str) -> object:
    """Greet the user whose name is the path."""
    global current  # noqa: PLW0603
    current = path.removeprefix("/")
    return {"greeting": greeting()}

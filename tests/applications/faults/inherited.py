"""A ContextVar holds a dict from the import on, and every thread that is started inherits it."""

from contextvars import ContextVar

from .asgi import answering
from .work import work

current: ContextVar[dict[str, str]] = ContextVar("current")


def request() -> dict[str, str]:
    """What belongs to this request: made where there is none yet."""
    try:
        return current.get()
    except LookupError:
        current.set({})
        return current.get()


request()["user"] = "nobody"  # of the code that runs at import


@answering
async def application(path: str) -> object:
    """Greet the user whose name is the path."""
    request()["user"] = path.removeprefix("/")
    work()
    return {"greeting": f"hello {request()['user']}"}

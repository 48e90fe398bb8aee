"""A schema is built at the first request, and others see it before it is complete."""

from .asgi import answering
from .work import work

schema: dict[str, str] = {}


def title() -> str:
    """Build the schema if there is none, then look into it."""
    if not schema:
        schema["version"] = "1"
        work()
        schema["title"] = "stock"
    return schema["title"]


@answering
async def application(path: str) -> object:
    """Answer with the title of the schema."""
    return {"title": title(), "path": path}

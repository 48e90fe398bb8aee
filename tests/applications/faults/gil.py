"""It imports a package whose extension has no support of free-threaded Python: the GIL is on."""

import fontTools.cu2qu  # noqa: F401

from .asgi import answering


@answering
async def application(path: str) -> object:
    """A constant answer."""
    return {"tea": 3}

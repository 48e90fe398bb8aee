"""Many tasks at once in asyncio, trio and anyio."""

from workers.loops.libraries.patterns import Begin, Library
from workers.loops.registry import known_loop

__all__ = ["Begin", "Library", "library"]


def library(loop: str) -> Library:
    """Return the library of that loop; call it with that loop running.

    Raises:
        UnknownLoopError: there is no such loop.
        ImportError: the library is not installed.
    """
    name = known_loop(loop).library
    if name == "asyncio":
        from workers.loops.libraries.on_asyncio import Asyncio  # trio's workers do not import it

        return Asyncio()
    from workers.loops.libraries.on_trio_and_anyio import CancelScopes

    return CancelScopes(name)

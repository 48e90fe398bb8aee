"""What runs a session: asyncio on one of its loops, or trio. All differences are in this folder."""

from workers.loops.registry import known_loop
from workers.loops.runners.runner import Runner, Traffic

__all__ = ["Runner", "Traffic", "runner_for"]


def runner_for(loop: str) -> Runner:
    """Return the runner for a loop; imports its library.

    Raises:
        UnknownLoopError: there is no such loop.
    """
    if known_loop(loop).made_by is None:
        from workers.loops.runners.on_trio import TrioRunner

        return TrioRunner()
    from workers.loops.runners.on_asyncio import AsyncioRunner

    return AsyncioRunner(loop)

"""It looks whether there is one, then takes it: on one loop nothing comes between the two."""

import time

from .asgi import answering

free = [1]


def use() -> None:
    """Take the member of the pool, if it is free, and put it back."""
    if free:
        time.sleep(0.001)
        member = free.pop()
        time.sleep(0.001)
        free.append(member)


@answering
async def application(path: str) -> object:
    """Use the pool, then answer."""
    use()
    return {"path": path}

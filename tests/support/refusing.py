"""System calls that fail, in place of those that a test does not want to provoke."""

import os
from collections.abc import Callable
from typing import NoReturn


def failing(code: int) -> Callable[..., NoReturn]:
    """A function that raises the `OSError` of this number, whatever it is called with."""

    def fails(*_: object, **__: object) -> NoReturn:
        raise OSError(code, os.strerror(code))

    return fails

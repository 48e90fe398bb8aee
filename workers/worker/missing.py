"""The package that a failed import lacks, if that is why it failed."""

import importlib.util
from contextlib import suppress


def missing_package(error: BaseException) -> str:
    """The top-level module that no installed distribution has; empty if that is not the reason.

    A module may raise the same exception with a message of its own (it was renamed, say), and a
    part may be missing of something that is installed: neither is mended by an installation.
    """
    name = getattr(error, "name", None)
    if not isinstance(error, ModuleNotFoundError) or str(error) != f"No module named {name!r}":
        return ""
    top = str(name).partition(".")[0]
    with suppress(ValueError):  # of what is half imported
        if importlib.util.find_spec(top):
            return ""
    from importlib.metadata import packages_distributions  # 3 MiB of a measured child

    return "" if top in packages_distributions() else top

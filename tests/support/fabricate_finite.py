"""The former name of `tests.support.runs.finite`, for tests that are not changed yet."""

from tests.support.runs import RELEASED_NS, finite

__all__ = ["RELEASED_NS", "finite"]

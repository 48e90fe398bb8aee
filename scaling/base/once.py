"""Results that are worked out once for an object, and forgotten with it."""

from collections.abc import Callable
from functools import wraps
from weakref import WeakKeyDictionary


def once_for_each[Of, Result](work: Callable[[Of], Result]) -> Callable[[Of], Result]:
    """Decorate a function of one object, which is compared by identity.

    The result must not refer to that object: the two would stay in memory.
    """
    found: WeakKeyDictionary[Of, Result] = WeakKeyDictionary()

    @wraps(work)
    def worked_out(of: Of) -> Result:
        if of not in found:
            found[of] = work(of)
        return found[of]

    return worked_out

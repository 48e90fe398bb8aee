"""The group of pins for the environment of a study's children: the smallest that is enough.

A child must not have packages that it does not need: each is one more that may be imported, turn
the GIL on, or lack a wheel. So the optional loops and libraries, servers of applications, and what
makes certificates, are only there if a study asks for them.
"""

from collections.abc import Iterator

from scaling.builds.runtimes.known import OWN_LOOP
from scaling.study.definition import Study

# What the group "child" has; any other loop is in the group "loops".
LOOPS_OF_ALL = {"asyncio", "uvloop", OWN_LOOP}
# Parameters that ask for a group beside it, and the values that do not.
ASKED_BY: dict[str, tuple[str, frozenset[object]]] = {
    "tls": ("tls", frozenset({"off"})),
    "server": ("serve", frozenset({"tcp", "aiohttp"})),
    "cache": ("cache", frozenset({"dict", "lru_cache"})),
    "miss": ("cache", frozenset({"cpu"})),
}
# And built-in workloads that ask for it whatever their parameters are.
ASKED_BY_NAME = {"mix": "serve", "web": "stack", "gateway": "stack"}
# Groups inside others: what asks for both needs the larger one.
INSIDE = {"serve": "stack"}


def group_for(study: Study) -> str:
    """The group of pins for the children of a study, before or after it is settled.

    `child`; `tls` if a workload's parameter of that name has a value other than `off`; `serve` if
    one has a `server` that is not in `child`, and for `mix`; `stack`, which holds `serve`, for
    `web` and `gateway`; `cache` for caches that are packages, and for misses from a database;
    `loops`, which has everything, for two of these, or for a loop or library that none of them has.
    """
    loops = {loop for entry in study.workloads for loop in entry.loops or study.loops}
    asked = {
        group
        for parameter, (group, without) in ASKED_BY.items()
        if not without.issuperset(_values(study, parameter))
    }
    asked |= {ASKED_BY_NAME[entry.name] for entry in study.workloads if entry.name in ASKED_BY_NAME}
    asked -= {small for small, large in INSIDE.items() if large in asked}
    if not loops <= LOOPS_OF_ALL or len(asked) > 1:
        return "loops"
    return next(iter(asked), "child")


def _values(study: Study, parameter: str) -> Iterator[object]:
    """All values that a study gives a parameter of that name, whatever workload has it."""
    for entry in study.workloads:
        given = entry.parameters.get(parameter, [])
        yield from given if isinstance(given, list) else [given]
    for override in study.overrides:
        if override.parameter == parameter:
            yield from override.values

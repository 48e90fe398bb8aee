"""The group of pins for the environment of a study's children: the smallest that is enough.

A child must not have packages that it does not need: each of them may be imported, turn the GIL on,
or lack a wheel. So optional loops and libraries, servers of applications, and packages that make
certificates are only there if the study needs them.
"""

from collections.abc import Iterator

from scaling.builds.runtimes import OWN_LOOP
from scaling.study.definition import Study

# The loops of the group "child"; all others are in the group "loops".
LOOPS_OF_CHILD = {"asyncio", "uvloop", OWN_LOOP}
# Parameters that need another group, except at these values.
ASKED_BY: dict[str, tuple[str, frozenset[object]]] = {
    "tls": ("tls", frozenset({"off"})),
    "server": ("serve", frozenset({"tcp", "aiohttp"})),
    "cache": ("cache", frozenset({"dict", "lru_cache"})),
    "miss": ("cache", frozenset({"cpu"})),
}
# Built-in workloads that need another group whatever their parameters are.
ASKED_BY_NAME = {
    "mix": "serve",
    "web": "stack",
    "gateway": "stack",
    "broadcast": "broadcast",
    "serve-cache": "serve",
    "serve-state": "serve",
}
# Groups that contain another one: a study that needs both gets the larger one.
INSIDE = {"stack": "serve", "broadcast": "serve"}


def group_for(study: Study) -> str:
    """The group of pins for the children of a study, settled or not.

    It is the group that the study needs, `child` if it needs none, and `loops`, which has
    everything, if it needs two groups or another loop or library.
    """
    loops = {loop for entry in study.workloads for loop in entry.loops or study.loops}
    asked = {
        group
        for parameter, (group, without) in ASKED_BY.items()
        if not without.issuperset(_values(study, parameter))
    }
    asked |= {ASKED_BY_NAME[entry.name] for entry in study.workloads if entry.name in ASKED_BY_NAME}
    asked -= {small for large, small in INSIDE.items() if large in asked}
    if not loops <= LOOPS_OF_CHILD or len(asked) > 1:
        return "loops"
    return next(iter(asked), "child")


def _values(study: Study, parameter: str) -> Iterator[object]:
    """All values of a parameter of that name in a study, whatever workload has it."""
    for entry in study.workloads:
        given = entry.parameters.get(parameter, [])
        yield from given if isinstance(given, list) else [given]
    for override in study.overrides:
        if override.parameter == parameter:
            yield from override.values

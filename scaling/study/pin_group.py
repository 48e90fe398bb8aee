"""The group of pins for the environment of a study's children: the smallest that is enough.

A child must not have packages that it does not need: each is one more that may be imported, turn
the GIL on, or lack a wheel. So the optional loops and libraries, and what makes certificates, are
only there if a study asks for them.
"""

from collections.abc import Iterator

from scaling.builds.runtimes.known import OWN_LOOP
from scaling.study.definition import Study

# What the group "child" has; any other loop is in the group "loops".
LOOPS_OF_ALL = {"asyncio", "uvloop", OWN_LOOP}
TLS, NO_TLS = "tls", "off"  # the parameter, and its value without certificates


def group_for(study: Study) -> str:
    """The group of pins for the children of a study, before or after it is settled.

    `child`; `tls` if a workload's parameter of that name has a value other than `off`; `loops`,
    which has all the rest, for a loop or library that is not in the other two.
    """
    loops = {loop for entry in study.workloads for loop in entry.loops or study.loops}
    if not loops <= LOOPS_OF_ALL:
        return "loops"
    return "tls" if any(value != NO_TLS for value in _tls_values(study)) else "child"


def _tls_values(study: Study) -> Iterator[object]:
    for entry in study.workloads:
        said = entry.parameters.get(TLS, NO_TLS)
        yield from said if isinstance(said, list) else [said]
    for override in study.overrides:
        if override.parameter == TLS:
            yield from override.values

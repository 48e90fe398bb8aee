"""What a study needs in its children's environment: the smallest group of pins that has it.

What a child does not need it must not have: a package there is one more that may be imported, turn
the GIL on, or lack a wheel. So the optional loops and libraries, and what makes certificates, are
there only where a study asks for them.
"""

from scaling.builds.runtimes.known import OWN_LOOP
from scaling.study.definition import Study

# What the group "child" has; any other loop is in the group "loops".
LOOPS_OF_ALL = {"asyncio", "uvloop", OWN_LOOP}
TLS = "tls"  # the parameter


def group_for(study: Study) -> str:
    """The group of pins for the children of a study, before it is settled.

    `child`; `tls` where a workload's parameter of that name is said; `loops`, which has the rest,
    too, where a loop or library is asked for that not everybody has.
    """
    loops = {loop for entry in study.workloads for loop in entry.loops or study.loops}
    if not loops <= LOOPS_OF_ALL:
        return "loops"
    said = {name for entry in study.workloads for name in entry.parameters}
    said |= {override.parameter for override in study.overrides}
    return "tls" if TLS in said else "child"

"""A load generator on another host, reached by ssh: `scaling run --load-from HOST`.

Clocks are not compared: the instants of a window are sent as times from now, and due times and
latencies are the generator's alone.
"""

import ipaddress
import subprocess
from collections.abc import Sequence

import msgspec

from scaling.base.errors import ScalingError, UsageError
from scaling.run.cluster.generator import Known
from scaling.run.cluster.request import SSH
from scaling.run.load import Elsewhere
from scaling.run.measure import Reach

MODULE = "scaling.run.cluster.generator"
LIMIT_S = 1_800.0  # a build may have to be made


def reached(host: str, python: str) -> Reach:
    """What gets a host ready that ssh knows; `python` is the one there that has this project.

    Raises:
        UsageError: it is no name of a host.
    """
    if not host or host.startswith("-"):
        raise UsageError(f"--load-from {host}: expected a host that ssh knows")
    return lambda build, group: ready([*SSH, host, *python.split(), "-m", MODULE, build, group])


def ready(command: Sequence[str], address: str | None = None) -> Elsewhere:
    """Have the host make what a generator needs; `command` starts its module there.

    `address` is that of this machine; without it, the one that ssh came from.

    Raises:
        ScalingError: the host is not reached, lacks something, or would need an IPv6 address.
    """
    name = command[len(SSH)] if tuple(command[: len(SSH)]) == SSH else command[0]
    try:
        answer = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, check=True
        ).stdout
        known = msgspec.json.decode(answer, type=Known)
        found = ipaddress.ip_address(address or known.address or "")
    except subprocess.CalledProcessError as error:
        why = error.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        why = str(error)
    else:
        if isinstance(found, ipaddress.IPv4Address):
            return Elsewhere(command=command, address=str(found), cores=known.cores)
        why = f"it reaches this machine at {found}, and workers listen on IPv4 only"
    raise ScalingError(f"--load-from {name}: {why}")

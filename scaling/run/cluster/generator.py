"""A load generator on another host, reached by ssh: `scaling run --load-from HOST`.

There it is `python -m scaling.run.cluster.generator BUILD GROUP [OPTIONS]`, which makes the
environment of that build and group of pins, and becomes a generator with these options
(`workers.services.load`). Without options it prints what this host must know of that one. It is
started for each run, so it imports little.

Clocks are not compared: the instants of a window are sent as times from now, and due times and
latencies are the generator's alone.
"""

import ipaddress
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from scaling.base.errors import ScalingError, UsageError
from scaling.builds import environments, interpreters
from scaling.builds.environments import workers_folder

if TYPE_CHECKING:
    from scaling.run.load import Elsewhere
    from scaling.run.measure import Reach

SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3")
MODULE = "scaling.run.cluster.generator"
PROGRAM = "workers.services.load"
LIMIT_S = 1_800.0  # a build may have to be made
SSH_CLIENT = "SSH_CONNECTION"  # client's address and port, then ours, as sshd sets it


class Known(msgspec.Struct, frozen=True):
    """The other host's address as it reaches us, None where ssh does not say; and our cores."""

    address: str | None
    cores: int


def reached(host: str, python: str) -> "Reach":
    """What gets a host ready that ssh knows; `python` is the one there that has this project.

    Raises:
        UsageError: it is no name of a host.
    """
    if not host or host.startswith("-"):
        raise UsageError(f"--load-from {host}: expected a host that ssh knows")
    return lambda build, group: ready([*SSH, host, *python.split(), "-m", MODULE, build, group])


def ready(command: Sequence[str], address: str | None = None) -> "Elsewhere":
    """Have the host make what a generator needs; `command` starts its module there.

    `address` is that of this machine; without it, the one that ssh came from.

    Raises:
        ScalingError: the host is not reached, lacks something, or would need an IPv6 address.
    """
    from scaling.run.load import Elsewhere

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


def main(build: str, group: str, *options: str) -> None:
    """Become a generator, or print what is known.

    Raises:
        ScalingError: there is no such build, or its environment cannot be made.
    """

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    (found,) = interpreters.ensure([build], say=say).values()
    python = str(environments.ensure(found, group=group, say=say))
    if not options:
        from scaling.machine.topology import read_topology

        client = os.environ.get(SSH_CLIENT, "").split()
        known = Known(client[0] if client else None, int(read_topology().usable_cores))
        print(msgspec.json.encode(known).decode())
        return
    # The folder of `workers` has `scaling` beside it, which the generator does not import.
    variables = {"PYTHONPATH": str(workers_folder().parent), "PYTHONSAFEPATH": "1"}
    if build.endswith("t"):
        variables["PYTHON_GIL"] = "1"
    os.execve(python, [python, "-m", PROGRAM, *options], {**os.environ, **variables})


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ScalingError as error:
        sys.exit(str(error))

"""`python -m scaling.run.cluster.generator BUILD GROUP [OPTIONS]`: load for another host.

Makes the environment of that build and group of pins, and becomes a generator with these options
(`workers.services.load`). Without options it prints what the other host must know of this one.
"""

import os
import sys

import msgspec

from scaling.base.errors import ScalingError
from scaling.builds import environments, interpreters
from scaling.builds.child_path import workers_folder

MODULE = "workers.services.load"
SSH_CLIENT = "SSH_CONNECTION"  # client's address and port, then ours, as sshd sets it


class Known(msgspec.Struct, frozen=True):
    """The other host's address as it reaches us, None where ssh does not say; and our cores."""

    address: str | None
    cores: int


def main(build: str, group: str, *options: str) -> None:
    """Become a generator, or print what is known.

    Raises:
        ScalingError: there is no such build, or its environment cannot be made.
    """

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    (found,) = interpreters.ensure([build], say=say).values()
    python = str(environments.ensure(found, group=group, say=say).python)
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
    os.execve(python, [python, "-m", MODULE, *options], {**os.environ, **variables})


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ScalingError as error:
        sys.exit(str(error))

"""`python -m scaling.run.cluster.worker [SCHEDULER LABEL]`: a host of a cluster.

It is a worker of dask.distributed that does one thing at a time, and nothing in between but send
heartbeats. It reads options of a `Worker` on standard input, as JSON, keys included (no file has
them, nor `ps`), and ends when that ends. With the address of a scheduler it has the keys of dask's
own configuration.
"""

import asyncio
import logging
import sys
import tempfile
from typing import BinaryIO

try:
    import dask
    import msgspec
    from distributed import Worker
except ModuleNotFoundError as missing:
    python = sys.executable
    raise SystemExit(f"{missing.name} is missing: {python} -m pip install distributed") from None

from scaling.run.cluster.on_host import RESOURCES
from scaling.run.redaction import LOOPBACK

# The engine would sample its own stacks every 10 ms, and look at its loop every 20.
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.terminate": False,
    "distributed.admin.tick.interval": "1h",
    "distributed.admin.tick.cycle": "1h",
    "distributed.admin.tick.limit": "1h",
    "distributed.admin.system-monitor.interval": "1h",
    "distributed.admin.system-monitor.disk": False,
    "distributed.admin.system-monitor.gil.enabled": False,
}
PATIENCE_S = 100  # for the scheduler to answer; then the worker ends


async def serve(worker: Worker, stdin: BinaryIO | None) -> None:
    """Work for the scheduler until it is gone, or until `stdin` ends where it is given."""
    async with worker:
        ends = [asyncio.create_task(worker.finished())]
        if stdin is not None:
            ends.append(asyncio.create_task(asyncio.to_thread(stdin.read)))
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)


async def main(arguments: list[str], stdin: BinaryIO) -> None:
    """Start as asked."""
    if arguments:
        scheduler, label = arguments
        security = {"require_encryption": True}
        options = {"scheduler_ip": scheduler, "name": label, "security": security}
    else:
        options = {"host": LOOPBACK} | msgspec.json.decode(stdin.readline())
    with tempfile.TemporaryDirectory() as folder, dask.config.set(QUIET):
        worker = Worker(
            **options,
            nthreads=1,
            resources=RESOURCES,
            memory_limit=0,
            local_directory=folder,
            death_timeout=PATIENCE_S,
            dashboard_address=f"{LOOPBACK}:0",
            silence_logs=logging.CRITICAL,
        )
        await serve(worker, None if arguments else stdin)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:], sys.stdin.buffer))

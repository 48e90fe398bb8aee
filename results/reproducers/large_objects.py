"""Memory of large objects on free-threaded CPython: above 128 KiB, pages wait for other threads.

One thread makes and drops `bytes` of the given size, one at a time, while the others only count. Up
to 128 KiB the dropped block is used again. Above it every object gets a fresh page (`mi_find_page`
in Objects/mimalloc/page.c), and the dropped one waits until every other thread has passed a
quiescent state (`_PyMem_mi_page_maybe_free` in Objects/obmalloc.c). A thread that waits for a CPU
passes none, so take more threads than there are CPUs.

    python3.14t large_objects.py 1 200000    no other thread: a few hundred KiB
    python3.14t large_objects.py 8 130000    just below the limit: the same
    python3.14t large_objects.py 8 132000    just above it: MiB, for one object alive at a time

To mend in CPython. `receive_buffer.py` shows what it does to asyncio.
"""

import os
import resource
import sys
import threading

threads, size = int(sys.argv[1]), int(sys.argv[2])
OBJECTS = 20_000


def count():
    number = 0
    while True:
        number += 1


def peak_mib():
    """Not `ru_maxrss`: that has the parent's peak."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


peak_before_mib, faults_before = peak_mib(), faults()
for _ in range(threads - 1):
    threading.Thread(target=count, daemon=True).start()
for _ in range(OBJECTS):
    bytes(size)
per_object = (faults() - faults_before) / OBJECTS
print(
    f"peak_grew_mib {peak_mib() - peak_before_mib:.1f} faults_per_object {per_object:.2f}",
    flush=True,
)
os._exit(0)

"""Forked processes copy what they read: memory of two workers and their parent, before and after.

Forked processes share the pages of what was made before the fork, until someone writes to them. To
read an object is to take a reference to it, which writes its count. Threads share the objects.

    python3.14t forked_reads.py threads         two threads: the same after reading
    python3.14 forked_reads.py forked           each worker copies the pages of what it reads
    python3.14 forked_reads.py forked freeze    gc.freeze() before the fork does not help
    python3.14 forked_reads.py forked array     columns have no objects to count

It prints PSS in MiB (Linux). Workers read one field of each of a million dicts.
"""

import gc
import multiprocessing
import os
import sys
import threading
from array import array

fork, forked, columns = multiprocessing.get_context("fork"), "forked" in sys.argv, "array" in sys.argv
Worker, Barrier = (fork.Process, fork.Barrier) if forked else (threading.Thread, threading.Barrier)
state = array("q", range(40_000_000)) if columns else [{"id": k, "x": k / 4} for k in range(10**6)]
together = Barrier(3)


def worker():
    together.wait()
    sum(state) if columns else sum(each["id"] for each in state)
    together.wait()
    together.wait()


def pss_mib(pid):
    with open(f"/proc/{pid}/smaps_rollup") as rollup:
        return next(int(line.split()[1]) / 1024 for line in rollup if line.startswith("Pss:"))


if "freeze" in sys.argv:
    gc.freeze()
workers = [Worker(target=worker, daemon=True) for _ in range(2)]
for each in workers:
    each.start()
pids = [os.getpid(), *(each.pid for each in workers if forked)]
before = sum(map(pss_mib, pids))
together.wait()
together.wait()
print(f"pss_mib_before {before:.0f} pss_mib_after {sum(map(pss_mib, pids)):.0f}")

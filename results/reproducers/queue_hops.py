"""A queue between two threads, on free CPUs and on busy ones: what a hop there and back takes.

A thread that waits for a lock spins before it sleeps, in the free-threaded build alone: up to 40
times `sched_yield` (`MAX_SPIN_COUNT` in Python/lock.c). `queue.Queue` waits for locks.

    python3.14t queue_hops.py Queue             it spins at each hop
    python3.14t queue_hops.py Queue busy        each yield gives the CPU to another program
    python3.14t queue_hops.py SimpleQueue busy  it waits in the kernel at once
"""

import multiprocessing
import os
import queue
import resource
import sys
import threading
import time

HOPS = 200
make = getattr(queue, sys.argv[1])
there, back = make(), make()


def answer():
    while there.get():
        back.put(True)


def hops(count):
    for _ in range(count):
        there.put(True)
        back.get()


def used():
    now = resource.getrusage(resource.RUSAGE_SELF)
    return now.ru_utime + now.ru_stime, now.ru_nvcsw + now.ru_nivcsw, time.perf_counter()


def spin():
    while os.getppid() == parent:
        pass


if __name__ == "__main__":
    parent = os.getpid()
    fork = multiprocessing.get_context("fork")
    others = [fork.Process(target=spin) for _ in range(os.cpu_count()) if "busy" in sys.argv]
    for each in others:
        each.start()
    threading.Thread(target=answer, daemon=True).start()
    hops(20)
    before = used()
    hops(HOPS)
    cpu_s, switches, took_s = [(b - a) / HOPS for a, b in zip(before, used())]
    print(f"cpu_us {1e6 * cpu_s:.0f} switches {switches:.0f} ms {1e3 * took_s:.2f}", flush=True)
    for each in others:
        each.kill()

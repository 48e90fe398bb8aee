"""How long free-threaded CPython stops a thread that makes no garbage, by what else is alive.

Its collector has no generations: each time it visits all objects, while every thread waits
(`gc_collect_internal` in Python/gc_free_threading.c). One thread makes cycles, which only the
collector frees. Another reads the clock, and notes the longest time between two readings.

    python3.14t collector_stops.py 100000            100,000 live objects
    python3.14t collector_stops.py 1000000           a million: it stands still for longer
    python3.14t collector_stops.py 1000000 50000     collections begin after 50,000 new objects
    python3.14t collector_stops.py 1000000 freeze    gc.freeze() before

It needs two free cores. To mend in CPython: collections that do not visit everything.
"""

import gc
import os
import sys
import threading
import time

live, how = int(sys.argv[1]), (sys.argv[2:] or ["on"])[0]
SECONDS = 3
stops_s = []


def make_garbage():
    while True:
        cycle = []
        cycle.append(cycle)


def watch():
    longest_s, last_s = 0.0, time.perf_counter()
    until_s = last_s + SECONDS
    while last_s < until_s:
        now_s = time.perf_counter()
        longest_s, last_s = max(longest_s, now_s - last_s), now_s
    stops_s.append(longest_s)


def collections():
    return sum(each["collections"] for each in gc.get_stats())


alive = [[] for _ in range(live)]
gc.collect()
if how == "freeze":
    gc.freeze()
elif how != "on":
    gc.set_threshold(int(how))
before = collections()
threading.Thread(target=make_garbage, daemon=True).start()
watching = threading.Thread(target=watch)
watching.start()
watching.join()
print(f"longest_stop_ms {1e3 * stops_s[0]:.1f} collections {collections() - before}", flush=True)
os._exit(0)

"""What it costs to do each piece of work in a fresh thread, or in one of a pool that is kept.

    python3.14t fresh_threads.py pooled    four threads for all pieces
    python3.14t fresh_threads.py fresh     a thread for each piece: several times the CPU time

A piece makes 300 small dicts and leaves five of them to the program, which keeps the last 20,000.
Four pieces are done at a time.
"""

import resource
import sys
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor

PIECES, AT_A_TIME = 2_000, 4
kept = deque(maxlen=20_000)
pool = ThreadPoolExecutor(AT_A_TIME)


def piece():
    rows = [{"id": number, "name": str(number), "tags": [number]} for number in range(300)]
    kept.extend(rows[::60])


def fresh():
    threads = [threading.Thread(target=piece) for _ in range(AT_A_TIME)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def pooled():
    for each in [pool.submit(piece) for _ in range(AT_A_TIME)]:
        each.result()


def cpu_s():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def all_pieces():
    for _ in range(PIECES // AT_A_TIME):
        {"fresh": fresh, "pooled": pooled}[sys.argv[1]]()


all_pieces()
before_s = cpu_s()
all_pieces()
print(f"cpu_us_a_piece {1e6 * (cpu_s() - before_s) / PIECES:.0f}")

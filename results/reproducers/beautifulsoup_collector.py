"""BeautifulSoup in threads on free-threaded CPython: the collector stops all of them.

Every soup is a web of cycles that only the collector can free, and the free-threaded collector
goes through all objects each time while every other thread waits. With a share f of CPU time in the
collector, two cores can do at most 1 / (f + (1 - f) / 2) times the work of one.

    python3.14t beautifulsoup_collector.py 1          share of CPU time in the collector
    python3.14t beautifulsoup_collector.py 8          the same for eight threads
    python3.14t beautifulsoup_collector.py 8 off      without collector: memory grows, threads scale

With `decompose` as the last word every soup is taken apart when it has been read; the share stays
the same. To mend in Beautiful Soup (soups that counting frees) and in CPython (a collector that
does not go through everything each time).
"""

import gc
import os
import sys
import threading
import time

from bs4 import BeautifulSoup

threads, collector = int(sys.argv[1]), (sys.argv[2:] or ["on"])[0]
STORY = '<tr class="athing"><td><b class="title"><a href="/{0}">Story {0}</a></b></td></tr>'
PAGE = f"<html><table>{''.join(STORY.format(i) for i in range(30))}</table></html>"
SECONDS = 3
done, cpu_s, moments_s = [], [], []


def collects(phase, _):
    moments_s.append(time.thread_time() * (-1 if phase == "start" else 1))


def scrape():
    count, until = 0, time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        soup = BeautifulSoup(PAGE, "html.parser")
        rows = soup.find_all("tr", class_="athing")
        assert len([row.find("b", class_="title").get_text() for row in rows]) == 30
        if collector == "decompose":
            soup.decompose()
        count += 1
    done.append(count)
    cpu_s.append(time.thread_time())


gc.callbacks.append(collects)
if collector == "off":
    gc.disable()
every = [threading.Thread(target=scrape) for _ in range(threads)]
for each in every:
    each.start()
for each in every:
    each.join()
share = sum(moments_s) / sum(cpu_s)
bound = 1 / (share + (1 - share) / 2)
print(
    f"cpu_ms_per_page {1e3 * sum(cpu_s) / sum(done):.2f} collector_share {share:.3f} "
    f"collections {len(moments_s) // 2} bound_on_two_cores {bound:.2f}",
    flush=True,
)
os._exit(0)

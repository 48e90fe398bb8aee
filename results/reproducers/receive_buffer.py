"""Memory of asyncio loops in threads, and page faults: a buffer of 256 KiB for every read.

`asyncio` passes `max_size` (256 KiB) to `sock.recv`, which allocates a `bytes` of that size and
then shrinks it to what was received. Above 128 KiB mimalloc takes a fresh page for every object
(`mi_find_page`), and with a second thread the freed page waits until every thread has passed a
quiescent state (`_PyMem_mi_page_maybe_free`). So pages pile up, and each is faulted in again.

    python3.14t receive_buffer.py 1 262144    one loop: little, unless the machine is busy
    python3.14t receive_buffer.py 4 262144    more loops than CPUs: tens of MiB more, and faults
    python3.14t receive_buffer.py 4 131000    just below the limit: neither
    python3.14t receive_buffer.py 4 132000    just above it: both again

With the GIL such a block is glibc's, which maps and unmaps it until a larger one was freed.

    python3.14 receive_buffer.py 1 262144     four page faults a trip
    python3.14 receive_buffer.py 1 65536      none, and less CPU time

To mend in CPython: `asyncio.selector_events` (a smaller `max_size`, or one buffer that is read
into), or the deferral of pages that hold no more than one object.
"""

import asyncio
import os
import resource
import sys
import threading
from asyncio import selector_events

threads, max_size = int(sys.argv[1]), int(sys.argv[2])
selector_events._SelectorSocketTransport.max_size = max_size


class Echo(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.trips = transport, 0

    def data_received(self, data):
        self.trips += 1
        self.transport.write(data)


async def echo():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Echo, "127.0.0.1", 0)
    address = server.sockets[0].getsockname()
    clients = [(await loop.create_connection(Echo, *address))[1] for _ in range(8)]
    for client in clients:
        client.transport.write(bytes(1024))
    await asyncio.sleep(2)
    trips.append(sum(client.trips for client in clients))


def peak_mib():
    """Not `ru_maxrss`: that has the parent's peak."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def faults_and_cpu_us():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_minflt, 1e6 * (usage.ru_utime + usage.ru_stime)


trips = []
every = [threading.Thread(target=asyncio.run, args=(echo(),)) for _ in range(threads)]
peak_before_mib, before = peak_mib(), faults_and_cpu_us()
for each in every:
    each.start()
for each in every:
    each.join()
faults, cpu_us = (
    (now - then) / sum(trips) for now, then in zip(faults_and_cpu_us(), before, strict=True)
)
grown_mib = peak_mib() - peak_before_mib
print(f"peak_grew_mib {grown_mib:.1f} faults_per_trip {faults:.3f} cpu_us {cpu_us:.2f}", flush=True)
os._exit(0)

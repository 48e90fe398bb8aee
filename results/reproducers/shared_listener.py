"""Event loops that accept from one listening socket: connections of the busiest of four loops.

A loop that wakes up accepts every connection that waits, up to its backlog (`_accept_connection` in
Lib/asyncio/selector_events.py). Of several loops on one socket the first to wake up takes most.

    python3.14t shared_listener.py shared       one socket, from which all four loops accept
    python3.14t shared_listener.py reuseport    a socket for each loop: the kernel chooses by a hash
    python3.14t shared_listener.py acceptor     one thread accepts, and deals connections in turn

It opens 16 connections at once, 50 times, and prints how many the busiest loop got over the mean
(median): 1 is even, 4 is one loop that has them all. `shared uvloop` does it on uvloop.
"""

import asyncio
import os
import socket
import statistics
import sys
import threading
import time

how = sys.argv[1]
LOOPS, CONNECTIONS, ROUNDS = 4, 16, 50
if "uvloop" in sys.argv:
    from uvloop import new_event_loop
else:
    new_event_loop = None  # asyncio's own


class Counting(asyncio.Protocol):
    def __init__(self, number):
        self.number = number

    def connection_made(self, transport):
        taken[self.number] += 1


def listening(port=0):
    return socket.create_server(("127.0.0.1", port), backlog=128, reuse_port=how == "reuseport")


async def accept(number):
    loops[number] = asyncio.get_running_loop()
    if how != "acceptor":
        own = sockets[number % len(sockets)]
        await loops[number].create_server(lambda: Counting(number), sock=own, backlog=128)
    ready.wait()
    await asyncio.Event().wait()


def worker(number):
    asyncio.run(accept(number), loop_factory=new_event_loop)


def deal(number):
    """Accept one connection, and give it to a loop."""
    connection, _ = sockets[0].accept()
    loop = loops[number % LOOPS]
    connected = loop.connect_accepted_socket(lambda: Counting(number % LOOPS), connection)
    asyncio.run_coroutine_threadsafe(connected, loop)


def busiest_over_mean():
    before, clients = list(taken), []
    for number in range(CONNECTIONS):
        clients.append(socket.create_connection(address))
        if how == "acceptor":
            deal(number)
    while sum(taken) < sum(before) + CONNECTIONS:
        time.sleep(0.001)
    for each in clients:
        each.close()
    return max(now - then for now, then in zip(taken, before)) * LOOPS / CONNECTIONS


taken, loops = [0] * LOOPS, [None] * LOOPS
sockets = [listening()]
address = sockets[0].getsockname()
if how == "reuseport":
    sockets += [listening(address[1]) for _ in range(LOOPS - 1)]
ready = threading.Barrier(LOOPS + 1)
for k in range(LOOPS):
    threading.Thread(target=worker, args=(k,), daemon=True).start()
ready.wait()
rounds = [busiest_over_mean() for _ in range(ROUNDS)]
print(f"busiest_over_mean {statistics.median(rounds):.2f} most {max(rounds):.2f}", flush=True)
os._exit(0)

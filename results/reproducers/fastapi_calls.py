"""FastAPI without network, in two threads and in two processes: CPU time per call.

What threads share (classes, functions, code, routes) costs reference counts that are shared, too.
With `immortal`, everything that exists before the threads start is made immortal, so that its
reference counts are neither read nor written: what that brings back was their cost.

    python3.14t fastapi_calls.py processes
    python3.14t fastapi_calls.py threads              about 6 % more CPU time per call
    python3.14t fastapi_calls.py threads immortal     back to that of processes

Both need two free cores. Reference counts are CPython's to mend (deferred or per-thread counts).
"""

import asyncio
import ctypes
import gc
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

from fastapi import FastAPI
from pydantic import BaseModel

SECONDS = 3
BODY = b'{"items": [{"name": "a", "price": 1.5, "quantity": 2}, {"name": "b", "price": 2.5}]}'
SCOPE = {"type": "http", "http_version": "1.1", "method": "POST", "scheme": "http", "root_path": ""}
SCOPE |= {"path": "/orders", "query_string": b""}
SCOPE["headers"] = [(b"content-type", b"application/json")]
app = FastAPI()


class Item(BaseModel):
    name: str
    price: float
    quantity: int = 1


class Order(BaseModel):
    items: list[Item]


@app.post("/orders")
async def take(order: Order) -> dict[str, float]:
    return {"total": sum(item.price * item.quantity for item in order.items)}


async def receive():
    return {"type": "http.request", "body": BODY, "more_body": False}


async def send(message):
    assert message.get("status", 200) == 200, message


async def calls(seconds):
    done, until, cpu_s = 0, time.perf_counter() + seconds, time.thread_time()
    while time.perf_counter() < until:
        await app(dict(SCOPE), receive, send)
        done += 1
    return (time.thread_time() - cpu_s) / done


def worker(seconds):
    return asyncio.run(calls(seconds))


def make_all_immortal():
    """`ob_ref_local` of the free-threaded build is a uint32 at offset 12."""
    found, left = {}, gc.get_objects()
    while left:
        one = left.pop()
        if id(one) not in found:
            found[id(one)] = one
            left.extend(gc.get_referents(one))
    for address in found:
        ctypes.c_uint32.from_address(address + 12).value = 0xFFFF_FFFF


if __name__ == "__main__":
    spawn = multiprocessing.get_context("spawn")
    threads = sys.argv[1] == "threads"
    pool = ThreadPoolExecutor(2) if threads else ProcessPoolExecutor(2, mp_context=spawn)
    list(pool.map(worker, [0.3, 0.3]))  # imports and warm-up
    if "immortal" in sys.argv:
        make_all_immortal()
    cpu_s = list(pool.map(worker, [SECONDS, SECONDS]))
    print(f"cpu_us_per_call {1e6 * sum(cpu_s) / 2:.2f}", flush=True)
    pool.shutdown()
    os._exit(0)

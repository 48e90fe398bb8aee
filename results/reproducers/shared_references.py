"""FastAPI in two threads: the objects whose reference counts both threads change, and how often.

References that a thread takes to an object of another thread are counted by atomic operations.
`shared_references.patch` makes CPython 3.14.7 count these operations, object by object. In the
source of CPython:

    patch -p1 < shared_references.patch && ./configure --disable-gil && make

With that interpreter and fastapi, where each line shares less than the one before:

    python3.14t shared_references.py shared          one application for both threads
    python3.14t shared_references.py own-app         an application for each
    python3.14t shared_references.py own-models      Pydantic models for each, too
    python3.14t shared_references.py own-frameworks  each imports FastAPI and what it needs anew
    python3.14t shared_references.py own-library     and a part of the standard library

It prints the operations per call on objects that both threads use, and the objects with the most of
them. What extension modules inline is not counted. A count is not a time: an operation takes longer
while another core writes to the same object.
"""

import asyncio
import ctypes
import gc
import os
import reprlib
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

CALLS = 2_000
LEAST_PER_CALL = 0.2  # an object with fewer operations is not listed
FRAMEWORKS = {"fastapi", "starlette", "pydantic", "anyio", "typing_inspection", "annotated_doc"}
LIBRARY = {"contextlib", "copy", "dataclasses", "email", "functools", "http", "inspect", "json"}
LIBRARY |= {"urllib"}
BODY = b'{"items": [{"name": "a", "price": 1.5, "quantity": 2}, {"name": "b", "price": 2.5}]}'
SHORT = reprlib.Repr(maxother=60, maxdict=0)  # no values of variables


class Slot(ctypes.Structure):
    """An object's address, and how often one thread changed its shared reference count."""

    _fields_ = (("address", ctypes.c_void_p), ("count", ctypes.c_uint64))


def models():
    from pydantic import BaseModel

    class Item(BaseModel):
        name: str
        price: float
        quantity: int = 1

    class Order(BaseModel):
        items: list[Item]

    return Order


def application(Order):
    from fastapi import FastAPI

    app = FastAPI()

    @app.post("/orders")
    async def take(order: Order) -> dict[str, float]:
        return {"total": sum(item.price * item.quantity for item in order.items)}

    return app


def imported_anew(packages):
    """An application on modules that nothing else uses."""
    before = taken_out(packages)
    app = application(models())
    taken_out(packages)
    sys.modules.update(before)
    return app


def taken_out(packages):
    names = [name for name in sys.modules if name.partition(".")[0] in packages]
    return {name: sys.modules.pop(name) for name in names}


def worker(app):
    """Call the application; the request belongs to this thread."""
    scope = {"type": "http", "http_version": "1.1", "method": "POST", "scheme": "http"}
    scope |= {"root_path": "", "path": "/orders", "query_string": b""}
    scope["headers"] = [(b"content-type", b"application/json")]

    async def receive():
        return {"type": "http.request", "body": BODY, "more_body": False}

    async def send(message):
        assert message.get("status", 200) == 200, message

    async def calls():
        for _ in range(CALLS):
            await app(dict(scope), receive, send)

    asyncio.run(calls())


def both_work(pools, apps):
    for each in [pool.submit(worker, app) for pool, app in zip(pools, apps)]:
        each.result()


def counted():
    """Operations by address, a counter for each thread."""
    tables, slots = [], (Slot * (1 << 20))()
    while (n := ctypes.pythonapi._PyShared_Read(len(tables), slots)) >= 0:
        tables.append(Counter({slots[k].address: slots[k].count for k in range(n)}))
    return tables


def reachable():
    """All objects, by address."""
    found, left = {}, gc.get_objects()
    while left:
        one = left.pop()
        if id(one) not in found:
            found[id(one)] = one
            left.extend(gc.get_referents(one))
    return found


if __name__ == "__main__":
    Order = models()
    app = application(Order)
    own = {
        "shared": lambda: app,
        "own-app": lambda: application(Order),
        "own-models": lambda: application(models()),
        "own-frameworks": lambda: imported_anew(FRAMEWORKS),
        "own-library": lambda: imported_anew(FRAMEWORKS | LIBRARY),
    }[sys.argv[1]]
    pools = [ThreadPoolExecutor(1), ThreadPoolExecutor(1)]
    apps = [pool.submit(own).result() for pool in pools]  # each thread makes its own
    both_work(pools, apps)  # warm-up
    gc.collect()
    gc.disable()
    on = ctypes.c_int.in_dll(ctypes.pythonapi, "_PyShared_on")
    on.value = 1
    both_work(pools, apps)
    on.value = 0
    one, other = sorted(counted(), key=Counter.total)[-2:]  # the main thread has few
    both, objects = one & other, reachable()
    listed = [key for key, count in both.most_common() if count >= LEAST_PER_CALL * CALLS]
    print(f"{both.total() / CALLS:.0f} operations per call, {len(listed)} objects", flush=True)
    for key in listed[:20]:
        name = SHORT.repr(objects[key]) if key in objects else "freed"
        print(f"{both[key] / CALLS:6.1f}  {name}", flush=True)
    os._exit(0)

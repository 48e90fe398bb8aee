"""Small things that every program does, in two threads: with one object for both, and one for each.

    python3.14t shared_primitives.py                every row: about half a minute
    python3.14t shared_primitives.py lock global    some rows

It prints how many times the calls of one thread two threads do: 2 where nothing is in the way, below
1 where two do less than one. It needs two free cores. `abc` checks objects of one class in both
columns, `abc-and-class` in the second column objects of two.
"""

import contextvars
import logging
import re
import sys
import threading
import time
import types
from abc import ABC
from enum import Enum

SECONDS = 0.2
REPEATS = 3
CALLS = range(1_000)
APART = 20  # objects that are made one after the other, so that no two counts are in one cache line


class Common:
    def __init__(self):
        self.value = object()


def attribute():
    made = Common()

    def calls():
        common = made
        for _ in CALLS:
            common.value

    return calls


def global_():
    def calls():
        for _ in CALLS:
            COMMON

    return with_globals(calls, COMMON=Common())


def with_globals(function, **names):
    return types.FunctionType(function.__code__, {"CALLS": CALLS, **names})


def module():
    made = types.ModuleType("own")
    made.value = float("3.25")

    def calls():
        module = made
        for _ in CALLS:
            module.value

    return calls


def closure():
    value = Common()

    def made():
        return value

    def calls():
        function = made
        for _ in CALLS:
            function()

    return calls


def enum():
    class Colour(Enum):
        RED = "red"

    def calls():
        colour = Colour
        for _ in CALLS:
            colour.RED

    return calls


def context():
    made = contextvars.ContextVar("own", default=Common())

    def calls():
        variable = made
        for _ in CALLS:
            variable.get()

    return calls


def abc():
    return checks({})


def abc_and_class():
    return checks(type("Own", (dict,), {})())


def checks(instance):
    class Made(ABC):
        pass

    Made.register(type(instance))

    def calls():
        own, found = Made, instance
        for _ in CALLS:
            isinstance(found, own)

    return calls


def lock():
    made = threading.Lock()

    def calls():
        lock = made
        for _ in CALLS:
            with lock:
                pass

    return calls


def log():
    def calls():
        for _ in CALLS:
            LOG.debug("not written")

    return with_globals(calls, LOG=logging.Logger("own", logging.WARNING))


def match():
    return matches("GET /items/42 HTTP/1.1")


def no_match():
    return matches("GET")


def matches(request):
    re.purge()
    made = re.compile(r"(\w+) (\S+) HTTP")
    text = request.encode().decode()

    def calls():
        pattern, request = made, text
        for _ in CALLS:
            pattern.match(request)

    return calls


EVERY = (attribute, global_, module, closure, enum, context, abc, abc_and_class, lock, log, match, no_match)
ROWS = {each.__name__.strip("_").replace("_", "-"): each for each in EVERY}


def calls_per_s(functions):
    """Of all threads together, while all of them are at work."""
    ready, counts, stop = threading.Barrier(len(functions) + 1), [], threading.Event()

    def work(function):
        function()  # so that its bytecode is specialised
        count, stopped = 0, stop.is_set
        ready.wait()
        while not stopped():
            function()
            count += 1
        counts.append(count)

    threads = [threading.Thread(target=work, args=[each]) for each in functions]
    for each in threads:
        each.start()
    ready.wait()
    began = time.perf_counter()
    time.sleep(SECONDS)
    took = time.perf_counter() - began
    stop.set()
    for each in threads:
        each.join()
    return sum(counts) / took


def gain(make, *, shared):
    """Two threads over one: the median of some repeats."""
    found = []
    for _ in range(REPEATS):
        made = [make() for _ in range(APART)]
        first, second = made[0], made[0 if shared else -1]
        found.append(calls_per_s([first, second]) / calls_per_s([first]))
    return sorted(found)[REPEATS // 2]


for name in sys.argv[1:] or ROWS:
    one, each = gain(ROWS[name], shared=True), gain(ROWS[name], shared=False)
    print(f"{name + '_shared':22} {one:5.2f}   {name + '_own':20} {each:5.2f}", flush=True)

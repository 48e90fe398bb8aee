"""Which allocator is really in use, read back from the interpreter itself."""

import os
import sys

# What `sys._debugmallocstats()` prints first, by allocator (Objects/obmalloc.c).
SIGNS = {b"Medium block threshold": "mimalloc", b"num pools": "pymalloc"}


def allocator() -> str:
    """Name the object allocator: `mimalloc`, `pymalloc` or `malloc`.

    The statistics go to the C-level standard error, which is diverted meanwhile; call it when
    no other thread has anything to say.
    """
    # A pipe, since `tempfile` would cost every child more than 1 MiB.
    reading, writing = os.pipe()
    os.set_blocking(writing, False)  # what does not fit into it is not needed
    kept = os.dup(2)
    os.dup2(writing, 2)
    try:
        sys._debugmallocstats()
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(writing)
    head = os.read(reading, 4096)
    os.close(reading)
    return next((name for sign, name in SIGNS.items() if sign in head), "malloc")

"""Which object allocator is really in use, read back from the interpreter itself."""

import os
import sys

# In the first lines that `sys._debugmallocstats()` prints for each allocator (Objects/obmalloc.c).
MARKERS = {b"Medium block threshold": "mimalloc", b"num pools": "pymalloc"}


def allocator() -> str:
    """Return the name of the object allocator: `mimalloc`, `pymalloc` or `malloc`.

    CPython prints its statistics to the C-level standard error, which is redirected for that
    moment: call it when no other thread writes there.
    """
    # A pipe, since importing `tempfile` would cost every child more than 1 MiB.
    reading, writing = os.pipe()
    os.set_blocking(writing, False)  # the first lines are enough; what does not fit is dropped
    stderr = os.dup(2)
    os.dup2(writing, 2)
    try:
        sys._debugmallocstats()
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(writing)
    head = os.read(reading, 4096)
    os.close(reading)
    return next((name for marker, name in MARKERS.items() if marker in head), "malloc")

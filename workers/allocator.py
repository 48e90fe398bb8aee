"""Which allocator is really in use, read back from the interpreter itself."""

import os
import sys
import tempfile

# What `sys._debugmallocstats()` prints first, by allocator (Objects/obmalloc.c).
SIGNS = {b"Medium block threshold": "mimalloc", b"num pools": "pymalloc"}


def allocator() -> str:
    """Name the object allocator: `mimalloc`, `pymalloc` or `malloc`.

    The statistics go to the C-level standard error, which is diverted meanwhile; call it when
    no other thread has anything to say.
    """
    with tempfile.TemporaryFile() as diverted:
        kept = os.dup(2)
        os.dup2(diverted.fileno(), 2)
        try:
            sys._debugmallocstats()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        diverted.seek(0)
        head = diverted.read(4096)
    return next((name for sign, name in SIGNS.items() if sign in head), "malloc")

"""Why a C library's memory costs page faults on free-threaded CPython 3.14: glibc gives it back.

At the start glibc maps blocks above 128 KiB, and gives memory back as soon as 128 KiB are free at
the end of its heap. When a mapped block is freed, the first limit rises to its size and the second
to twice its size. With the GIL Python's objects above 512 bytes are glibc's, and some large one is
soon freed. Without the GIL they are mimalloc's. So a parser whose memory is glibc's takes it from
the system again for every document.

    python3.14t freed_blocks.py nothing    160 page faults a round
    python3.14t freed_blocks.py bytes      the same: mimalloc has the block that is freed first
    python3.14t freed_blocks.py block      hardly any: glibc has it
    python3.14 freed_blocks.py bytes       hardly any: glibc has it

MALLOC_TRIM_THRESHOLD_=67108864 MALLOC_MMAP_THRESHOLD_=33554432 ends the faults on each.
"""

import ctypes
import resource
import sys
import threading

freed_first = sys.argv[1] if len(sys.argv) > 1 else "nothing"
BLOCKS, BLOCK_BYTES, ROUNDS, LARGE_BYTES = 12, 64 << 10, 500, 4 << 20
libc = ctypes.CDLL(None)
libc.malloc.argtypes, libc.malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
libc.free.argtypes, libc.free.restype = [ctypes.c_void_p], None


def parse():
    """As a parser does: a document's nodes are allocated, written to, and freed together."""
    blocks = [libc.malloc(BLOCK_BYTES) for _ in range(BLOCKS)]
    for block in blocks:
        ctypes.memset(block, 1, BLOCK_BYTES)
    for block in reversed(blocks):
        libc.free(block)


def worker():
    if freed_first == "bytes":
        bytes(LARGE_BYTES)
    elif freed_first == "block":
        libc.free(libc.malloc(LARGE_BYTES))
    parse()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(ROUNDS):
        parse()
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    print(f"faults_per_round {faults / ROUNDS:.1f}")


thread = threading.Thread(target=worker)
thread.start()
thread.join()

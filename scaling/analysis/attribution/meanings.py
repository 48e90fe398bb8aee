"""What the names of functions mean that profiles of competing threads show.

Each entry has a pattern of names, what it means, and where that can be read: a file of CPython
3.14's source, of the kernel's (Linux 6.1), or a page.
"""

from fnmatch import fnmatchcase
from typing import NamedTuple

from scaling.journal.profile import Kind


class Known(NamedTuple):
    """What a name means; `source` is a file or an address."""

    meaning: str
    source: str


SHARED_COUNT = "reference count of an object that another thread made: an atomic operation"
FREE_LISTS = "memory is only reused once no thread can still read it (QSBR)"
PARKED = "a thread waits for another: a lock, an event, a stopped world"
MAPPING = "memory of the process is mapped or unmapped; all its threads share one lock for that"
FAULT = "a page is used for the first time: the kernel clears and maps it"

# The first pattern that fits counts.
NATIVE: dict[str, Known] = {
    "_PyMutex_LockTimed": Known(
        "a lock that another thread has: spins, then waits", "Python/lock.c"
    ),
    "PyMutex_Lock*": Known("a lock inside CPython is taken", "Python/lock.c"),
    "_PyMutex_LockSlow*": Known("a lock that another thread has", "Python/lock.c"),
    "_PyRWMutex_*": Known("a lock for readers and writers inside CPython", "Python/lock.c"),
    "_PyCriticalSection*": Known(
        "the lock of a dict, list or other object that threads share", "Python/critical_section.c"
    ),
    "_PyParkingLot_*": Known(PARKED, "Python/parking_lot.c"),
    "_PySemaphore_*": Known(PARKED, "Python/parking_lot.c"),
    "_Py_DecRefShared*": Known(SHARED_COUNT, "Objects/object.c"),
    "_Py_MergeZeroLocalRefcount": Known(
        "the last own reference to an object that threads share is dropped", "Objects/object.c"
    ),
    "_Py_brc_*": Known(
        "a thread drops the references of another thread's objects on its behalf", "Python/brc.c"
    ),
    "_PyObject_ThreadIncrefSlow": Known(
        "reference count of a function, class or module, kept per thread: table is enlarged",
        "Python/uniqueid.c",
    ),
    "_Py_qsbr_*": Known(FREE_LISTS, "Python/qsbr.c"),
    "qsbr_*": Known(FREE_LISTS, "Python/qsbr.c"),
    "_PyMem_FreeDelayed*": Known(FREE_LISTS, "Objects/obmalloc.c"),
    "_PyMem_ProcessDelayed*": Known(FREE_LISTS, "Objects/obmalloc.c"),
    "process_queue": Known(FREE_LISTS, "Objects/obmalloc.c"),
    "*stop_the_world*": Known("all other threads are stopped", "Python/pystate.c"),
    "_PyEval_StopTheWorld*": Known("all other threads are stopped", "Python/pystate.c"),
    "start_the_world*": Known("the stopped threads go on", "Python/pystate.c"),
    "gc_collect_*": Known("the cyclic collector", "InternalDocs/garbage_collector.md"),
    "gc_visit_*": Known("the cyclic collector", "InternalDocs/garbage_collector.md"),
    "update_refs": Known("the cyclic collector", "InternalDocs/garbage_collector.md"),
    "take_gil": Known("waits for the GIL", "Python/ceval_gil.c"),
    "drop_gil*": Known("gives the GIL to another thread", "Python/ceval_gil.c"),
    "_Py_Specialize_*": Known(
        "bytecode is adapted to the types seen, for each thread anew", "Python/specialize.c"
    ),
    "_PyCode_GetTLBC*": Known("a thread gets its own copy of bytecode", "Objects/codeobject.c"),
    "_PyEval_EvalFrameDefault": Known(
        "the interpreter's loop: Python code itself, and waiting for memory that it reads",
        "Python/ceval.c",
    ),
    "_PyType_Lookup*": Known("an attribute is looked up in a class", "Objects/typeobject.c"),
    "_mi_prim_*": Known(f"mimalloc: {MAPPING}", "Objects/mimalloc/prim/unix/prim.c"),
    "_mi_os_*": Known(f"mimalloc: {MAPPING}", "Objects/mimalloc/os.c"),
    "*mi_arena_*": Known(
        "mimalloc: a large part of memory is taken or given back", "Objects/mimalloc/arena.c"
    ),
    "*mi_segment_*": Known(
        "mimalloc: a segment of pages is taken or given back", "Objects/mimalloc/segment.c"
    ),
    "*mi_page_*": Known(
        "mimalloc: a page of blocks is searched or reclaimed", "Objects/mimalloc/page.c"
    ),
    "mi_*": Known("mimalloc, the allocator of the free-threaded build", "Objects/mimalloc/alloc.c"),
    "_mi_*": Known(
        "mimalloc, the allocator of the free-threaded build", "Objects/mimalloc/alloc.c"
    ),
    "_int_malloc": Known("glibc's malloc", "https://sourceware.org/glibc/wiki/MallocInternals"),
    "_int_free*": Known("glibc's malloc", "https://sourceware.org/glibc/wiki/MallocInternals"),
}

KERNEL: dict[str, Known] = {
    "native_queued_spin_lock_slowpath": Known(
        "a spin lock of the kernel that another CPU has", "kernel/locking/qspinlock.c"
    ),
    "*queued_spin_lock_slowpath": Known(
        "a spin lock of the kernel that another CPU has", "kernel/locking/qspinlock.c"
    ),
    "osq_lock": Known("waits for a lock of the kernel", "kernel/locking/osq_lock.c"),
    "rwsem_*": Known(f"waits for a lock of the kernel; often {MAPPING}", "kernel/locking/rwsem.c"),
    "down_read*": Known(f"a lock of the kernel; often {MAPPING}", "kernel/locking/rwsem.c"),
    "down_write*": Known(f"a lock of the kernel; often {MAPPING}", "kernel/locking/rwsem.c"),
    "*futex*": Known(PARKED, "https://man7.org/linux/man-pages/man2/futex.2.html"),
    "smp_call_function*": Known(
        "waits for other CPUs to do something, such as to forget unmapped memory", "kernel/smp.c"
    ),
    "*flush_tlb*": Known(
        "CPUs that run other threads of the process forget unmapped memory", "arch/x86/mm/tlb.c"
    ),
    "*unmap*": Known(MAPPING, "mm/mmap.c"),
    "*mmap*": Known(MAPPING, "mm/mmap.c"),
    "*madvise*": Known(MAPPING, "mm/madvise.c"),
    "clear_page*": Known(FAULT, "mm/memory.c"),
    "*page_fault*": Known(FAULT, "mm/memory.c"),
    "do_anonymous_page": Known(FAULT, "mm/memory.c"),
    "*copy_user*": Known("data is copied between a socket or file and memory", "lib/iov_iter.c"),
    "_copy_to_iter": Known("data is copied from a socket or file", "lib/iov_iter.c"),
    "_copy_from_iter": Known("data is copied to a socket or file", "lib/iov_iter.c"),
    "finish_task_switch*": Known("a CPU goes on with another thread", "kernel/sched/core.c"),
    "__schedule": Known("a CPU goes on with another thread", "kernel/sched/core.c"),
    "*ep_poll*": Known("the loop's poll", "fs/eventpoll.c"),
    "*epoll_wait*": Known("the loop's poll", "fs/eventpoll.c"),
}

TABLES: dict[Kind, dict[str, Known]] = {"native": NATIVE, "kernel": KERNEL}


def meaning(kind: Kind, function: str) -> str | None:
    """What a name means, with where that can be read; None of one that is not known."""
    for pattern, known in TABLES.get(kind, {}).items():
        if fnmatchcase(function, pattern):
            return f"{known.meaning} ({known.source})"
    return None

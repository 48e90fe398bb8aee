"""Other allocators than glibc's, and when glibc's or mimalloc gives memory back."""

import platform

from scaling.builds import installed
from scaling.builds.cpython import Build
from scaling.builds.settings.setting import Setting


def _preloaded(name: str, library: str, package: str, source: str) -> Setting:
    """An allocator that is loaded instead of glibc's, from the Debian package that has it.

    Python's own allocator stays in place for objects of up to 512 bytes.
    """

    def misfit(build: Build) -> str | None:
        if build.free_threaded:
            return (
                f"{build.name} takes all its objects from mimalloc, whatever library is loaded; "
                f"the setting is for a build with the GIL"
            )
        if installed.library(library) is None:
            return f"{library} is not on this machine: apt-get install {package}"
        return None

    return Setting(
        name=name,
        summary=f"{name} in place of glibc's malloc, for blocks of more than 512 bytes",
        preload=library,
        switches={"LD_PRELOAD": library},
        misfit=misfit,
        source=source,
        instead_of="allocator",
    )


JEMALLOC = _preloaded(
    "jemalloc",
    "libjemalloc.so.2",
    "libjemalloc2",
    "https://www.finbox.in/blog/beyond-python-heap-fixing-memory-retention-with-jemalloc",
)

TCMALLOC = _preloaded(
    "tcmalloc",
    "libtcmalloc_minimal.so.4",
    "libtcmalloc-minimal4",
    "https://gperftools.github.io/gperftools/tcmalloc.html",
)


def _purge_misfit(build: Build) -> str | None:
    if build.free_threaded:
        return None
    return f"{build.name} uses mimalloc only with +mimalloc; the setting is for free-threaded ones"


_DELAY = "MIMALLOC_PURGE_DELAY"

# CPython's copy of mimalloc reads its variables (Objects/mimalloc/options.c, mi_option_init), and
# exports nothing that would say what it read.
KEEP_PAGES = Setting(
    name="nopurge",
    summary="mimalloc never gives freed pages back to the system (after 10 ms by default)",
    environment={_DELAY: "-1"},
    switches={_DELAY: "-1"},
    misfit=_purge_misfit,
    source="https://microsoft.github.io/mimalloc/environment.html",
)


def _needs_glibc(_build: Build) -> str | None:
    if platform.libc_ver()[0] == "glibc":
        return None
    return "the C library of this machine is not glibc, whose variables these are"


_OF_GLIBC = {"MALLOC_MMAP_THRESHOLD_": f"{32 << 20}", "MALLOC_TRIM_THRESHOLD_": f"{64 << 20}"}

# When a program frees a mapped block, glibc raises the first to its size and the second to twice
# its size, at most to these values (man 3 mallopt). Only blocks that glibc allocated count: where
# mimalloc has Python's objects, large ones do not.
KEEP_BLOCKS = Setting(
    name="nomap",
    summary="glibc's malloc takes blocks of up to 32 MiB from its heap and keeps 64 MiB of it",
    environment=_OF_GLIBC,
    switches=_OF_GLIBC,
    misfit=_needs_glibc,
    source="https://man7.org/linux/man-pages/man3/mallopt.3.html",
)

"""Where requests are answered: heavy ones beside the loop, or all in threads without one."""

from scaling.builds.settings.setting import Place, Setting

GTHREAD = "gunicorn-gthread"


def _has_loops(place: Place) -> str | None:
    return "there is no loop to keep free" if place.parameters.get("server") == GTHREAD else None


TO_THREAD = Setting(
    name="to-thread",
    summary="heavy requests in the loop's pool of threads (asyncio.to_thread)",
    parameters={"heavy_in": "thread"},
    reads_back={"facts": {"heavy_in": "thread"}},
    unfit=_has_loops,
    workloads=("mix",),
    source="https://docs.python.org/3/library/asyncio-dev.html#running-blocking-code",
    lines=("await asyncio.to_thread(heavy, request)  # in place of heavy(request)",),
)

# No remedy: it takes the loops away.
THREADS_WITHOUT_LOOPS = Setting(
    name="gthread",
    summary="threads without loops, one for each connection (gunicorn's gthread)",
    parameters={"server": GTHREAD},
    reads_back={"facts": {"server": GTHREAD}},
    workloads=("mix",),
)

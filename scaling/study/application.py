"""The study of a user's own application: threads and processes, at its peak and at stated rates.

`scaling app` makes it from what the command line says of the application. From there on it is a
study like any other: planned, measured, resumed and shown in the same way.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from scaling.base.errors import UsageError
from scaling.base.models import MIXED
from scaling.builds.settings.setting import GTHREAD
from scaling.study.app_options import DEFAULT_RATE, AppAsked
from scaling.study.definition import WorkloadEntry
from scaling.study.file import StudyFile
from scaling.study.kinds import GRID
from scaling.study.load import CLOSED
from scaling.study.presets import PRESETS

WORKLOAD = "app"  # the one that serves the application (workers/workloads/app.py)
WSGI = "wsgi"
ALLOCATORS = ("", "+mimalloc")  # of the build with the GIL; that without has mimalloc alone
WORKERS = (1, 2)

# A block has fifteen cells and three A/A pairs, of WSGI eighteen and three: 70 s on two cores. The
# seven runs that decide between threads and processes take 30 of these, and have six blocks more: a
# true 0.90 that scatters by 5 % a block is found slower by more than 5 % with nine blocks, a true
# 0.95 by more than 2 % with 22. A word needs six.
EFFORT = {
    "smoke": {"blocks": 2, "window_s": 0.7},
    "default": {"blocks": 6, "headline_blocks": 6, "window_s": 2.0},
    "rigorous": {"blocks": 14, "headline_blocks": 8, "window_s": 4.0},
}
assert EFFORT.keys() == PRESETS.keys()


def application_study(asked: AppAsked) -> StudyFile:
    """What a study file would say that asks for this.

    Raises:
        UsageError: the application has no `package.module:name`, or it has no pools to compare.
    """
    if asked.pools and asked.interface == WSGI:
        raise UsageError("--pool: a WSGI application is served without loops, which have pools")
    if asked.pools and asked.full:
        raise UsageError("--pool and --full: measure the sizes alone, then the rest with the best")
    gil, free = asked.builds
    with_gil = tuple(gil + allocator for allocator in ALLOCATORS)
    is_wsgi = asked.interface == WSGI
    entries = _of_wsgi(asked, with_gil, free) if is_wsgi else _entries(asked, with_gil, free)
    values: dict[str, Any] = {
        "name": study_name(asked.application),
        "arms": (free,) if asked.threads_only and not is_wsgi else (*with_gil, free),
        "loops": ("asyncio",) if is_wsgi else ("uvloop",),  # servers without loops run on asyncio
        "workers": _workers(asked),
        "controls": False,
        "application": asked.note,
    }
    return StudyFile(values, tuple(entries), EFFORT)


def _entries(asked: AppAsked, with_gil: tuple[str, ...], free: str) -> Iterator[WorkloadEntry]:
    """The entries; only what could be shipped, which comes first, has the whole grid of rates."""
    shared = _parameters(asked)
    pools: dict[str, Any] = {"pool": list(asked.pools)} if asked.pools else {}
    without_grid = [rate for rate in shared["rate_per_s"] if rate != GRID]
    beside = {**shared, "rate_per_s": without_grid}
    yield from _loaded(asked, shared | pools, arms=(free,), models=("threads",))
    if asked.threads_only:
        return
    yield from _loaded(asked, shared | pools, arms=with_gil, models=("processes", "forked"))
    if asked.mixed:
        yield from _loaded(asked, shared | pools, arms=(free,), models=mixed_models(asked.mixed))
    if asked.full:
        # The ladder: what the allocator, the build and the GIL do to threads. Then the other loop.
        yield _entry(beside, arms=(*with_gil, f"{free}+gil"), models=("threads",))
        yield _entry(beside, arms=(free,), models=("threads",), loops=("asyncio",))
        models = ("processes", "forked")
        yield _entry(beside, arms=with_gil, models=models, loops=("asyncio",))
    if asked.command:
        command = {**beside, "server": "command", "command": asked.command}
        yield _entry(command, arms=(with_gil[0], free), models=("processes",))


def _of_wsgi(asked: AppAsked, with_gil: tuple[str, ...], free: str) -> Iterator[WorkloadEntry]:
    """N threads without loops against N processes, all by gunicorn; forked ones by `--preload`."""
    shared = _parameters(asked) | {"server": GTHREAD}
    yield from _loaded(asked, shared, arms=(free, with_gil[0]), models=("threads",))
    yield from _loaded(asked, shared, arms=with_gil, models=("processes", "forked"))
    if asked.mixed:
        yield from _loaded(asked, shared, arms=(free,), models=mixed_models(asked.mixed))


def mixed_models(each: int) -> tuple[str, ...]:
    """The models of processes with so many threads each, fresh and forked."""
    return tuple(f"{kind}:{each}" for kind in MIXED)


def study_name(application: str) -> str:
    """`app-shop.main` of `shop.main:app`: the study's name, and that of its folder.

    Raises:
        UsageError: it is not `package.module:name`.
    """
    if re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*", application) is None:
        raise UsageError(
            f"{application}: expected package.module:name, as in shop.main:app (with --factory, "
            f"the name of a function that makes the application)"
        )
    module = application.partition(":")[0]
    return f"app-{re.sub(r'[^A-Za-z0-9._]', '_', module)}"


def _loaded(
    asked: AppAsked, parameters: Mapping[str, Any], **lists: tuple[str, ...]
) -> Iterator[WorkloadEntry]:
    """Entries at the peak and at each rate. A rate that nobody asked for is measured with the most
    workers alone: at one rate these do no more than one worker, but sooner.
    """
    if asked.rates or asked.full:
        yield _entry(parameters, **lists)
        return
    yield _entry({**parameters, "rate_per_s": [CLOSED]}, **lists)
    at_rate = _entry({**parameters, "rate_per_s": [DEFAULT_RATE]}, **lists)
    yield replace(at_rate, workers=_workers(asked)[-1:])


def _workers(asked: AppAsked) -> tuple[int, ...]:
    """The numbers of workers: up to two, and two processes of a mixed model."""
    return (*WORKERS, 2 * asked.mixed) if asked.mixed else WORKERS


def _entry(parameters: Mapping[str, Any], **lists: tuple[str, ...]) -> WorkloadEntry:
    return WorkloadEntry(name=WORKLOAD, parameters=dict(parameters), **lists)  # type: ignore[arg-type]


def _parameters(asked: AppAsked) -> dict[str, Any]:
    """What all configurations have in common, as far as it differs from the workload's defaults."""
    rates = asked.rates or (DEFAULT_RATE,)
    with_grid = [GRID] if asked.full and GRID not in rates else []
    values = {
        "application": asked.application,
        "factory": asked.factory,
        "interface": asked.interface,
        "lifespan": asked.lifespan,
        "health": asked.health,
        "budgets": ",".join(asked.budgets),
        "server": "loops",  # also says which packages the children need
        "rate_per_s": [CLOSED, *rates, *with_grid],
    }
    return values if asked.connections is None else values | {"connections": asked.connections}

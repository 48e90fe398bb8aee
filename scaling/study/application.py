"""The study of a user's own application: threads and processes, at the peak and at stated rates.

`scaling app` makes it from its options. Then it is a study like any other: it is planned, measured,
resumed and shown in the same way.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from scaling.base.errors import UsageError
from scaling.base.models import MIXED
from scaling.builds.settings.setting import GTHREAD
from scaling.study.app_options import DEFAULT_RATE, AppAsked
from scaling.study.definition import WorkloadEntry
from scaling.study.file import StudyFile, read_study
from scaling.study.kinds import GRID
from scaling.study.load import CLOSED, RATE

WORKLOAD = "app"  # the one that serves the application (workers/workloads/app.py)
WSGI = "wsgi"
ALLOCATORS = ("", "+mimalloc")  # of the build with the GIL; that without has mimalloc alone
FILE = Path(__file__).with_name("app.toml")


def application_study(asked: AppAsked) -> StudyFile:
    """The study file for an application.

    Raises:
        UsageError: `application` is not `package.module:name`, or pools cannot be compared.
    """
    if asked.pools and asked.interface == WSGI:
        raise UsageError("--pool: a WSGI application is served without loops and their pools")
    if asked.pools and asked.full:
        raise UsageError("--pool and --full: give one of them. Compare the sizes of pools first")
    gil, free = asked.builds
    with_gil = tuple(gil + allocator for allocator in ALLOCATORS)
    is_wsgi = asked.interface == WSGI
    file = read_study(FILE.read_text("utf-8"), FILE.name)
    values = {
        **file.values,
        "name": study_name(asked.application),
        "arms": (free,) if asked.threads_only and not is_wsgi else (*with_gil, free),
        "application": asked.note,
    }
    if is_wsgi:
        values["loops"] = ("asyncio",)  # servers without loops run on it
    if asked.mixed:
        values["workers"] += _most(asked)
    return replace(file, values=values, workloads=tuple(_entries(asked, with_gil, free)))


def _entries(asked: AppAsked, with_gil: tuple[str, ...], free: str) -> Iterator[WorkloadEntry]:
    """The entries of the study. Candidates for shipping come first, and only they have the grid.

    gunicorn serves WSGI: in N threads without loops, or in N processes, forked with `--preload`.
    """
    is_wsgi = asked.interface == WSGI
    shared = _parameters(asked)
    at_all = shared | ({"pool": list(asked.pools)} if asked.pools else {})
    arms = (free, with_gil[0]) if is_wsgi else (free,)
    yield from _loaded(asked, at_all, arms=arms, models=("threads",))
    if asked.threads_only and not is_wsgi:
        return
    processes = ("processes", "forked")
    yield from _loaded(asked, at_all, arms=with_gil, models=processes)
    if asked.mixed:
        yield from _loaded(asked, at_all, arms=(free,), models=mixed_models(asked.mixed))
    beside = {**shared, RATE: [rate for rate in shared[RATE] if rate != GRID]}
    if asked.full and not is_wsgi:
        # The ladder: effects of allocator, build and GIL on threads. Then the other loop.
        yield _entry(beside, arms=(*with_gil, f"{free}+gil"), models=("threads",))
        yield _entry(beside, arms=(free,), models=("threads",), loops=("asyncio",))
        yield _entry(beside, arms=with_gil, models=processes, loops=("asyncio",))
    if asked.command and not is_wsgi:
        command = {**beside, "server": "command", "command": asked.command}
        yield _entry(command, arms=(with_gil[0], free), models=("processes",))


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
    """Entries at the peak and at each rate.

    The default rate is measured with the most workers only: at one rate N workers do the same work
    as one.
    """
    if asked.rates or asked.full:
        yield _entry(parameters, **lists)
        return
    yield _entry({**parameters, RATE: [CLOSED]}, **lists)
    at_rate = _entry({**parameters, RATE: [DEFAULT_RATE]}, **lists)
    yield replace(at_rate, workers=_most(asked))


def _most(asked: AppAsked) -> tuple[int]:
    """The most workers: two, or two processes of a mixed model."""
    return (2 * (asked.mixed or 1),)


def _entry(parameters: Mapping[str, Any], **lists: tuple[str, ...]) -> WorkloadEntry:
    return WorkloadEntry(name=WORKLOAD, parameters=dict(parameters), **lists)  # type: ignore[arg-type]


def _parameters(asked: AppAsked) -> dict[str, Any]:
    """The parameters of all configurations that differ from the workload's defaults."""
    rates = asked.rates or (DEFAULT_RATE,)
    with_grid = [GRID] if asked.full and GRID not in rates else []
    same = ("application", "factory", "interface", "lifespan", "health")
    values: dict[str, Any] = {key: getattr(asked, key) for key in same} | {
        "budgets": ",".join(asked.budgets),
        # The packages that the children need follow from the server.
        "server": GTHREAD if asked.interface == WSGI else "loops",
        RATE: [CLOSED, *rates, *with_grid],
    }
    return values if asked.connections is None else values | {"connections": asked.connections}

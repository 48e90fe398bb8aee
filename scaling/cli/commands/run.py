"""`scaling run`: a study is measured, on this machine or on several, and compared."""

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from scaling.base.console import new_console, say
from scaling.base.errors import ScalingError, UsageError
from scaling.base.formats import listed
from scaling.builds.installed import POSTGRES, VALKEY
from scaling.cli.program import NOTHING_ASKED, Asked, Output, command, measure


@command(60, "run --workload echo --arm 3.14,3.14t --workers 1,2")
def run(
    asked: Asked = NOTHING_ASKED,
    *,
    output: Output = None,
    postgres: Annotated[str | None, Parameter(metavar="URL", env_var=POSTGRES)] = None,
    valkey: Annotated[str | None, Parameter(metavar="URL", env_var=VALKEY)] = None,
    cluster: Annotated[str | None, Parameter(metavar="tls://HOST:PORT")] = None,
) -> None:
    """Measure a study, or resume an interrupted one; then print the answer.

    Args:
        postgres: An installed PostgreSQL for workloads that query.
        valkey: An installed Valkey for cache (empty) and broadcast.
        cluster: Measure on each host of this scheduler of dask.distributed, and not here.
    """
    from scaling.report.output import finish
    from scaling.run.measure import prepared

    console, note = new_console(), partial(say, new_console(stderr=True))
    services = {POSTGRES: postgres, VALKEY: valkey}
    if cluster is not None:
        _require_no_services(services)
        _run_on_several(asked, cluster, output, console)
        return
    for name, url in services.items():
        if url:
            os.environ[name] = url  # where services look, and nothing else is to know it
    with prepared(asked.options, asked.wanted, note) as ready:
        measured = measure(ready, output, console)
    finish(measured, console)


def _require_no_services(services: dict[str, str | None]) -> None:
    """Make sure that nothing is asked for that hosts cannot share. Raises `UsageError`."""
    for name, url in services.items():
        if url:
            raise UsageError(
                f"--{name.removeprefix('SCALING_').lower()}: hosts measure at the same time, and "
                f"would disturb each other on one server. Set {name} on each host instead, and "
                f"not here"
            )


def _run_on_several(asked: Asked, cluster: str, output: Path | None, console: Console) -> None:
    """Measure what is missing on every host; then print how they compare.

    Raises:
        UsageError: something that was asked for does not exist or does not fit.
        ScalingError: a host did not finish.
    """
    from scaling.base.files import text_in
    from scaling.report.compare import finish_several
    from scaling.run.cluster import Study, connected
    from scaling.run.cluster_host import Request
    from scaling.run.measure import RESULTS, running_build
    from scaling.study.file import DEFAULT_STUDY, built_in_studies, load_study_file, study_from

    options = asked.options
    study = study_from(options, running_build=running_build())  # a mistake is found here
    own: dict[str, Any] = {}
    if "arms" not in {**load_study_file(options.study or DEFAULT_STUDY).values, **options.said}:
        own["arms"] = study.arms  # a host may run on another
    files = {}
    if options.study and options.study not in built_in_studies():
        path = Path(options.study)
        own["study"] = path.name
        files[path.name] = text_in(path)
    request = Request(replace(asked, flags={**asked.flags, **own}).arguments, files=files)
    folder = output or RESULTS / f"{study.name}-hosts"
    with connected(cluster) as client:
        on_hosts = Study(client, request, folder, partial(say, console))
        on_hosts.measure()
    if on_hosts.found:
        finish_several(dict(sorted(on_hosts.found.items())), console)
    if on_hosts.unfinished:
        raise ScalingError(
            f"not finished on {listed(on_hosts.unfinished)}: the same command resumes it there"
        )

"""`scaling run`: measures a study, on this machine or on several."""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.console import Console

from scaling.base.console import new_console, say
from scaling.base.errors import ScalingError, UsageError
from scaling.base.formats import listed
from scaling.builds.installed import POSTGRES, VALKEY
from scaling.cli.program import NOTHING_ASKED, Output, StudyAsked, command, measure

if TYPE_CHECKING:
    from scaling.run.cluster_host import Request
    from scaling.study.definition import Study as AskedStudy


@command(60, "run --workload echo --arm 3.14,3.14t --workers 1,2")
def run(
    asked: StudyAsked = NOTHING_ASKED,
    *,
    output: Output = None,
    postgres: Annotated[str | None, Parameter(metavar="URL", env_var=POSTGRES)] = None,
    valkey: Annotated[str | None, Parameter(metavar="URL", env_var=VALKEY)] = None,
    cluster: Annotated[str | None, Parameter(metavar="tls://HOST:PORT")] = None,
) -> None:
    """Measure a study, or resume an interrupted one; then print the answer.

    Args:
        postgres: Your own PostgreSQL, for workloads that use one.
        valkey: Your own Valkey, for cache (which needs it empty) and broadcast.
        cluster: Measure on every host of this dask.distributed scheduler, instead of here.
    """
    from scaling.report.output import finish
    from scaling.run.cluster_host import JOURNAL_ALONE
    from scaling.run.prepare import prepared

    console, note = new_console(), partial(say, new_console(stderr=True))
    services = {POSTGRES: postgres, VALKEY: valkey}
    if cluster is not None:
        _require_no_services(services)
        _run_on_several(asked, cluster, output, console)
        return
    for name, url in services.items():
        if url:
            os.environ[name] = url  # where services look for it
    with prepared(asked.options, asked.wanted, note) as study:
        measured = measure(study, output, console)
    if JOURNAL_ALONE not in os.environ:
        finish(measured, console)


def _require_no_services(services: dict[str, str | None]) -> None:
    """Refuse servers of the user's own, which hosts cannot share. Raises `UsageError`."""
    for name, url in services.items():
        if url:
            raise UsageError(
                f"--{name.removeprefix('SCALING_').lower()}: hosts measure at the same time, and "
                f"would disturb each other on one server. Set {name} on each host instead"
            )


def _run_on_several(asked: StudyAsked, cluster: str, output: Path | None, console: Console) -> None:
    """Measure what is missing on every host; then print how they compare.

    Raises:
        UsageError: something that was asked for does not exist or does not fit.
        ScalingError: a host did not finish.
    """
    from scaling.report.compare import finish_several
    from scaling.run.cluster import Study, connected
    from scaling.run.measure import RESULTS
    from scaling.run.prepare import running_build
    from scaling.study.file import study_from

    study = study_from(asked.options, running_build=running_build())  # a mistake is found here
    folder = output or RESULTS / f"{study.name}-hosts"
    with connected(cluster) as client:
        on_hosts = Study(client, request_of(study, asked), folder, partial(say, console))
        on_hosts.measure()
    if on_hosts.found:
        finish_several(dict(sorted(on_hosts.found.items())), console)
    if on_hosts.unfinished:
        raise ScalingError(
            f"not finished on {listed(on_hosts.unfinished)}: the same command resumes it there"
        )


def request_of(study: "AskedStudy", asked: StudyAsked) -> "Request":
    """The request to a host: its arguments, and a study file that names the builds of Python."""
    import tomli_w

    from scaling.run.cluster_host import Request
    from scaling.study.file import said_in

    said = said_in({**study.document, "time_s": study.time_s})
    parameters = [f"--set={each}" for each in study.overrides]
    arguments = ["--study=study.toml", *parameters, *asked.of_children]
    return Request(arguments, files={"study.toml": tomli_w.dumps(said)})

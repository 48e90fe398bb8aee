"""`scaling run --cluster`: a study is measured on several machines, and compared."""

from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console

from scaling.base.console import say
from scaling.base.errors import ScalingError
from scaling.base.files import text_in
from scaling.base.formats import listed
from scaling.cli.program import Asked, arguments_of


def run_on_several(asked: Asked, cluster: str, output: Path | None, console: Console) -> None:
    """Measure what is missing on every host; then print how they compare.

    Raises:
        UsageError: something that was asked for does not exist or does not fit.
        ScalingError: a host did not finish.
    """
    from scaling.report.compare import finish_several
    from scaling.run.cluster import Study, connected
    from scaling.run.cluster_host import Request
    from scaling.run.measure import RESULTS, running_build
    from scaling.study.file import DEFAULT_STUDY, built_in_studies, load_study_file, study_from

    options = copy(asked.options)
    study = study_from(options, running_build=running_build())  # a mistake is found here
    file = load_study_file(options.study or DEFAULT_STUDY)
    if "arms" not in {**file.values, **options.flags}:
        options.flags = {**options.flags, "arms": study.arms}  # a host may run on another
    files = {}
    if options.study and options.study not in built_in_studies():
        path = Path(options.study)
        options.study = path.name
        files[path.name] = text_in(path)
    arguments = arguments_of(replace(asked, options=options))
    folder = output or RESULTS / f"{study.name}-hosts"
    with connected(cluster) as client:
        on_hosts = Study(client, Request(arguments, files=files), folder, partial(say, console))
        on_hosts.measure()
    if on_hosts.found:
        finish_several(dict(sorted(on_hosts.found.items())), console)
    if on_hosts.unfinished:
        raise ScalingError(
            f"not finished on {listed(on_hosts.unfinished)}: the same command resumes it there"
        )

"""`scaling run --hosts` and `--cluster`: a study is measured on several machines, and compared."""

import re
from functools import partial
from pathlib import Path

from rich.console import Console

from scaling.base.console import say
from scaling.base.errors import ScalingError, UsageError
from scaling.base.formats import plural
from scaling.cli.program import Asked
from scaling.run.cluster.on_host import LABEL, Request


def run_on_several(
    asked: Asked,
    hosts: str | None,
    host_python: str,
    cluster: str | None,
    output: Path | None,
    console: Console,
) -> None:
    """Measure what remains on every host; then print how they compare.

    Raises:
        UsageError: something that was asked for does not exist or does not fit.
        ScalingError: a host is not complete.
    """
    if hosts is not None and cluster is not None:
        raise UsageError("--hosts and --cluster: give one of them")
    if hosts == "":
        raise UsageError("--hosts: expected hosts that ssh knows, such as one,user@two")
    labels = _labelled(hosts or "")
    ask = partial(Request.of, asked.options, asked.wanted)
    study = ask("0" * 32, "check").asked  # a mistake in it is found here
    from scaling.report.compare import finish_several
    from scaling.run.cluster.engine import Host, joined, started
    from scaling.run.cluster.measure import measure_on_hosts
    from scaling.run.measure import RESULTS

    folder = output or RESULTS / f"{study.name}-hosts"
    opened = (
        joined(cluster)
        if cluster is not None
        else started([Host(label, each, host_python) for label, each in labels.items()])
    )
    with opened as found:
        ended = measure_on_hosts(found, ask, folder, partial(say, console))
    finish_several(folder, console)
    unfinished = [label for label, each in ended.hosts.items() if each.state != "complete"]
    if unfinished:
        raise ScalingError(
            f"{plural(len(unfinished), 'host')} of {len(ended.hosts)} did not finish the study "
            f"({', '.join(unfinished)}). The same command measures what is missing"
        )


def _labelled(text: str) -> dict[str, str]:
    """`a=user@one,two`: the addresses by label; one without gets `host-2`, by its place.

    Raises:
        UsageError: a label or an address is malformed, or named twice.
    """
    found: dict[str, str] = {}
    for number, each in enumerate(text.split(",") if text else [], start=1):
        label, equals, address = each.strip().rpartition("=")
        label = label if equals else f"host-{number}"
        if not re.match(LABEL, label):
            raise UsageError(f"--hosts {each}: a label has only a-z, 0-9 and hyphens")
        if not address or address.startswith("-"):
            raise UsageError(f"--hosts {each}: expected a host that ssh knows")
        if label in found or address in found.values():
            raise UsageError(f"--hosts {each}: named twice. Name each label and host once")
        found[label] = address
    return found

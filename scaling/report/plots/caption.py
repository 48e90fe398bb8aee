"""The small print under every plot: machine, builds, date, how often, how a server was loaded, what
its services deliver at most, and what is left out.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from scaling.analysis.curves import Point
from scaling.analysis.results import StudyResults
from scaling.analysis.sections import Section
from scaling.analysis.soundness import build_differences
from scaling.analysis.statistics.noise import NoiseFloor
from scaling.base import formats
from scaling.builds.arms import with_settings
from scaling.journal.record import ArmRecord, CeilingLine, WorkloadNote
from scaling.report.tables.notes import bound_text, bounds, machine_text
from scaling.report.tables.rates import has_background, is_served
from scaling.study.load import is_open_loop
from scaling.study.services import LOAD_GENERATOR
from scaling.study.settle import caveats

NO_BREAK = "\N{NO-BREAK SPACE}"
UNBROKEN = 60  # letters
SERVER, ACCEPT, CONNECTIONS = "server", "accept", "connections"
PROXY, NO_PROXY = "proxy", "none"
SIZED = {"weak": "per worker", "strong": "in total"}
ACCEPTED = {
    "port": "connections dealt evenly (a port per worker)",
    "acceptor": "connections dealt evenly (by one acceptor)",
    "shared": "connections taken from one shared listener",
    "reuseport": "connections dealt by the kernel (SO_REUSEPORT)",
}


def caption(
    section: Section,
    results: StudyResults,
    found: Mapping[str, float],
    ceilings: Sequence[CeilingLine] = (),
    load: Sequence[str] = (),
) -> str:
    """One paragraph, a warning first; what is not known of a machine is left out.

    `found` are the regions that the section reaches, `load` is how a served workload was loaded
    (`load_text`).
    """
    study = results.study
    arms = list(dict.fromkeys(curve.key.arm for curve in section.curves))
    points = [point for curve in section.curves for point in curve.points]
    used = sum(point.runs for point in points)
    left_out = sum(point.left_out for point in points)
    suspect = sum(point.suspect for point in points)
    outliers = int(sum(np.nansum(curve.values["outlier"]) for curve in section.curves))
    kept = f"{formats.plural(outliers, 'outlier')} kept, ringed where runs are drawn"
    parts = [
        warning(results),
        *caveats(study),
        *load,
        machine_text(study.machine),
        builds_text({name: study.arms[name] for name in arms if name in study.arms}),
        study.started_at[:10] if study.started_at else "",
        blocks_text(study.blocks, points),
        oversubscription_text(found),
        ceiling_text(ceilings),
        "each worker pinned to a CPU" if study.study.get("pin") else "",
        f"{formats.plural(left_out, 'invalid run')} left out" if left_out else "",
        f"{suspect} of the {formats.plural(used, 'run')} suspect" if suspect else "",
        kept if outliers else "",
    ]
    return f"{NO_BREAK}· ".join(_whole(part) for part in parts if part)


def warning(results: StudyResults) -> str:
    """What no figure must be seen without, such as facts in which builds differ besides what is
    compared; the tables have their values.
    """
    facts = [each.fact for each in build_differences(results.study)]
    unlike = f"builds differ in {', '.join(facts)}, too" if facts else ""
    return " · ".join(filter(None, [results.soundness.warning, unlike]))


def _whole(part: str) -> str:
    """A part that is not broken over two lines, if it is short enough for that."""
    return part.replace(" ", NO_BREAK) if len(part) <= UNBROKEN else part


def blocks_text(planned: int | None, points: Sequence[Point]) -> str:
    """`8 blocks`, and that some figures are of fewer, if they are.

    A study that was continued may have more blocks than it began with.
    """
    blocks = max([planned or 0, *(point.runs for point in points)])
    fewer = [point for point in points if point.runs < blocks]
    text = formats.plural(blocks, "block")
    if not fewer:
        return text
    left_out = all(point.left_out for point in fewer)
    return f"{text}, fewer where runs {'were left out' if left_out else 'are missing'}"


def builds_text(arms: dict[str, ArmRecord]) -> str:
    """`3.14, 3.14t: 3.14.7, GCC 12.2.0, no PGO`: arms with the same build stand together."""
    by_build: dict[str, list[str]] = defaultdict(list)
    for name, arm in arms.items():
        if arm.description is not None:
            by_build[_build(arm)].append(name)
        elif arm.runtime is not None:
            by_build[arm.runtime].append(name)
    return "; ".join(f"{', '.join(names)}: {build}" for build, names in by_build.items())


def _build(arm: ArmRecord) -> str:
    assert arm.description is not None
    python = arm.description.python
    made_with = [option for option in python.config_args if option.startswith("-O")]
    if python.pgo is not None:
        made_with.append("PGO" if python.pgo else "no PGO")
    if python.lto:
        made_with.append("LTO")
    return ", ".join([python.version, *([python.compiler] if python.compiler else []), *made_with])


def oversubscription_text(found: Mapping[str, float]) -> str:
    """From which N on workers share CPUs, if the figure goes that far."""
    if "oversubscribed" not in found:
        return ""
    if begins := found["oversubscribed"]:
        return f"N above {int(begins)} is oversubscribed on this machine"
    return "every N here is oversubscribed on this machine"


def ceilings_of(section: Section, results: StudyResults) -> tuple[CeilingLine, ...]:
    """The ceilings that were measured for the section's workload and parameters."""
    key = section.curves[0].key
    parameters = key.parameters
    note = results.study.workloads.get(key.workload, WorkloadNote())
    services = [*note.services, *[LOAD_GENERATOR] * note.served]

    def fits(ceiling: CeilingLine) -> bool:
        asked = ceiling.parameters.items()
        return ceiling.service in services and all(parameters.get(n) == value for n, value in asked)

    return tuple(each for each in results.ceilings if fits(each))


def ceiling_text(ceilings: Iterable[CeilingLine]) -> str:
    """`site ceiling 14,200 requests/s (pages=10, delay_ms=0; 2 processes)`; empty without any."""
    return ", ".join(
        dict.fromkeys(
            _ceiling(each, each.requests_per_s) for each in ceilings if each.requests_per_s
        )
    )


def _ceiling(ceiling: CeilingLine, requests_per_s: float) -> str:
    parameters = (f"{n}={formats.parameter(value)}" for n, value in ceiling.parameters.items())
    several = f"{ceiling.processes} processes" if ceiling.processes > 1 else ""
    measured_with = "; ".join(filter(None, (", ".join(parameters), several)))
    text = f"{ceiling.service} ceiling {formats.number(requests_per_s)} requests/s"
    return f"{text} ({measured_with})" if measured_with else text


def load_text(section: Section, results: StudyResults) -> list[str]:
    """Server, connections, window, cores, a part each; empty for what is not served."""
    key = section.curves[0].key
    if not is_served(key, results.study):
        return []
    parameters = key.parameters
    served = [(curve.key, with_settings(curve.key.arm, parameters)) for curve in section.curves]
    servers = dict.fromkeys(str(each[SERVER]) for _, each in served if SERVER in each)
    taken = (accepted(each, is_command=key in results.commands) for key, each in served)
    connections = parameters.get(CONNECTIONS)
    window_s = results.study.study.get("window_s")
    closed = parameters.get("rate_per_s") == 0
    return list(
        filter(
            None,
            [
                f"server {formats.listed(servers)}" if servers else "",
                _connections(connections, section.sizing, _most_workers(results, key.workload)),
                "; ".join(dict.fromkeys(taken)),
                "latency of foreground requests only" if has_background(section) else "",
                "closed loop" if closed else "",
                f"windows of {window_s:g} s" if isinstance(window_s, int | float) else "",
                bound_text(bounds(results.frame, [section])),
            ],
        )
    )


def accepted(parameters: Mapping[str, object], *, is_command: bool) -> str:
    """How connections reached the workers; empty where it is not known.

    A command listens itself, whatever the parameters say.
    """
    proxy = parameters.get(PROXY, NO_PROXY)
    if proxy != NO_PROXY:
        return f"connections taken by {proxy}"
    if is_command:
        return "connections taken from the server's own listener"
    policy = parameters.get(ACCEPT)
    return ACCEPTED.get(str(policy), f"accept={policy}") if policy else ""


def _connections(connections: object, sizing: str, most_workers: int) -> str:
    """Those of each worker; in strong sizing all, as many as the most workers have."""
    if not isinstance(connections, int):
        return ""
    count = connections * most_workers if sizing == "strong" else connections
    return f"{formats.plural(count, 'connection')} {SIZED.get(sizing, '')}".strip()


def _most_workers(results: StudyResults, workload: str) -> int:
    runs = results.frame[results.frame["workload"] == workload]
    return int(runs["workers"].max())


def noise_text(section: Section, floor: NoiseFloor) -> str:
    """`A/A pairs differ by ±3.1 % to 12.4 % in P99`; empty where it is not known.

    The pairs are those in an open loop, if there are any.
    """
    workload = section.curves[0].key.workload
    own = [pair for pair in floor.pairs if pair.cell.workload == workload]
    chosen = [pair for pair in own if is_open_loop(pair.cell.parameters)] or own
    known = [spread for pair in chosen if math.isfinite(spread := pair.floor("latency_p99_s"))]
    return f"A/A pairs differ by ±{formats.percents(known)} in P99" if known else ""

"""What the captions of served workloads say: how they were loaded, on which cores, for how long."""

import math
from collections.abc import Mapping

from scaling.analysis.curves.sections import Section
from scaling.analysis.results import StudyResults
from scaling.analysis.statistics.noise import NoiseFloor
from scaling.base import formats
from scaling.builds.arms import with_settings
from scaling.report.tables.few_cores import bound_text, bounds
from scaling.report.tables.rated import has_background, is_served
from scaling.study.load import is_open_loop

SERVER, ACCEPT, CONNECTIONS = "server", "accept", "connections"
PROXY, NO_PROXY = "proxy", "none"
SIZED = {"weak": "per worker", "strong": "in total"}
ACCEPTED = {
    "port": "connections dealt evenly (a port per worker)",
    "acceptor": "connections dealt evenly (by one acceptor)",
    "shared": "connections taken from one shared listener",
    "reuseport": "connections dealt by the kernel (SO_REUSEPORT)",
}


def load_text(section: Section, results: StudyResults) -> list[str]:
    """Server, connections, window, cores, a part each; empty for what is not served."""
    key = section.curves[0].key
    if not is_served(section, results.study):
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
                "sent from another host" if results.study.study.get("load_elsewhere") else "",
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
    own = [pair for pair in floor.pairs if pair.key.workload == workload]
    chosen = [pair for pair in own if is_open_loop(pair.parameters)] or own
    known = [spread for pair in chosen if math.isfinite(spread := pair.floor("latency_p99_s"))]
    return f"A/A pairs differ by ±{formats.percents(known)} in P99" if known else ""

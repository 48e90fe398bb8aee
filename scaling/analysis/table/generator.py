"""Columns of served runs: the load that was sent, how it was answered, and who sent it.

All but the last are what the load generator measured from outside. NaN where a run had none.
"""

from collections.abc import Callable

import numpy as np

from scaling.analysis.arrays import Floats
from scaling.analysis.column import Column, Noise, Read, Shown
from scaling.analysis.rows import Rows
from scaling.analysis.stacks import NS_PER_S
from scaling.analysis.table.latency import FIRST_BYTE, SHARES, fewest, in_s, of_summary
from scaling.analysis.table.processes import per_operation
from scaling.analysis.table.run_fields import CONNECTIONS
from scaling.analysis.validity.served import SLIP
from scaling.journal.record import Load, RunLine
from scaling.study.load import STALLED

NOISE: dict[str, Noise] = {"p50": "latency_p50_s", "p99": "latency_p99_s"}
SLIP_SHOWN = Shown("P99 slip ms", "slip_p99_ms", 113, 1e3)


def of_load(figure: Callable[[Load], float | None]) -> Read:
    """Read a figure of the runs' loads; NaN without one, and where it is None."""

    def of_run(run: RunLine) -> float:
        found = None if run.load is None else figure(run.load)
        return np.nan if found is None else found

    return lambda rows: [of_run(run) for run in rows.runs]


def _offered(run: RunLine) -> float:
    """Requests that were due in the window, over its length as it was scheduled."""
    window_ns = run.record.window_ns if run.record is not None else None
    if run.load is None or window_ns is None or window_ns <= 0:
        return np.nan
    return run.load.offered * NS_PER_S / window_ns


def _longest(rows: Rows) -> list[float]:
    return [
        found.get("latency_max_s", np.nan) if run.load is not None else np.nan
        for run, found in zip(rows.runs, rows["latency_summary"], strict=True)
    ]


def _connections(run: RunLine) -> list[float]:
    """The number of connections that each worker took, where they report that."""
    workers = run.record.workers if run.load is not None and run.record is not None else []
    return [each.figures[CONNECTIONS] for each in workers if CONNECTIONS in each.figures]


def _imbalance(run: RunLine) -> float:
    counts = _connections(run)
    total = sum(counts)
    return max(counts) * len(counts) / total if total > 0 else np.nan


def _busiest(run: RunLine) -> float:
    used = run.record.outside.cpu_ns if run.record and run.record.outside else ()
    return used[0] / sum(used) if sum(used) else np.nan


GENERATOR = {
    "asked_per_s": Column(
        read=of_load(lambda load: load.rate_per_s),
        unit="requests/s",
        definition="rate of an open loop as it was asked for; NaN of a closed one",
        in_frame=False,
    ),
    "offered_per_s": Column(
        read=lambda rows: list(map(_offered, rows.runs)),
        unit="requests/s",
        definition="requests due in the window ÷ its length; of a closed loop those sent",
        shown=Shown("offered/s", "offered_per_s", 2),
    ),
    "achieved_per_s": Column(
        read=of_load(lambda load: load.achieved_per_s),
        unit="requests/s",
        definition="good answers that clients got in the window ÷ its length",
        better="more",
        shown=Shown("achieved/s", "achieved_per_s", 4),
    ),
    "latency_max_s": Column(
        read=_longest,
        definition="longest request of a served run, from its due time, unfinished ones included",
        better="less",
        shown=Shown("max latency ms", "latency_max_ms", 112, 1e3),
    ),
    **{
        f"{FIRST_BYTE}{name}_s": in_s(
            f"{FIRST_BYTE}{name}_s",
            f"{name.upper()} of the time from when a request was due to the first byte "
            "of the body of its answer, or its first message; the latency ends with the last. So "
            f"far where nothing came. From {fewest(SHARES[name]):,} requests on; NaN in journals "
            "of 1.x",
            f"{name.upper()} first byte",
            place,
            NOISE[name],
        )
        for name, place in {"p50": 91, "p99": 76}.items()
    },
    **{
        f"service_{name}_s": Column(
            read=of_summary(f"service_{name}_s"),
            definition=f"{name.upper()} of the time from the send of a request to its answer, of "
            f"answered ones only, from {fewest(SHARES[name]):,} answers on",
            better="less",
        )
        for name in ("p50", "p90", "p95", "p99")
    },
    "background_requests": Column(
        read=lambda rows: [
            found.get("background_count") or np.nan for found in rows["latency_summary"]
        ],
        definition="requests that load the server and are in no latency but their own; NaN if none",
        shown=Shown("background requests", "background_requests", 106),
    ),
    **{
        f"background_{name}_s": in_s(
            f"background_{name}_s",
            f"{name.upper()} of background requests, from the due time; so far where "
            f"unfinished. They are in no other latency. From {fewest(SHARES[name]):,} requests on",
            f"background {name.upper()}",
            place,
        )
        for name, place in {"p50": 108, "p99": 109}.items()
    },
    **{
        f"slip_{name}_s": Column(
            read=of_summary(f"slip_{name}_s"),
            definition="how late the load generator itself was: actual send − earliest possible "
            "send, " + ("mean" if name == "mean" else f"{name.upper()}"),
            better="less",
            shown=SLIP_SHOWN if name == "p99" else None,
        )
        for name in SLIP
    },
    "unfinished": Column(
        read=of_load(lambda load: float(sum(load.unfinished.count))),
        definition="requests without an answer when the window closed; their latency so far counts",
        better="less",
    ),
    "load_errors": Column(
        read=of_load(lambda load: float(sum(load.errors.values()))),
        definition="requests that ended in an error: in no latency",
        better="less",
        shown=Shown("errors", "load_errors", 114),
    ),
    "load_declined": Column(
        read=of_load(lambda load: float(sum(load.declined.values()))),
        definition="requests that the server declined, refused or past a deadline: no errors, and "
        "in no latency",
        better="less",
    ),
    "generator_busy_fraction": Column(
        read=of_load(lambda load: load.busy_fraction),
        definition="share of a core that the load generator's busiest process used",
        better="less",
        shown=Shown("generator busy", "generator_busy_fraction", 116),
    ),
    "generator_cpu_s_per_op": Column(
        read=per_operation(of_load(lambda load: load.cpu_s)),
        definition="CPU time of the load generator's processes in the window ÷ operations",
        better="less",
    ),
    "connections_imbalance": Column(
        read=lambda rows: list(map(_imbalance, rows.runs)),
        definition="most connections of a worker ÷ mean of the workers: 1 where they are even",
        better="less",
        shown=Shown("connections max/mean", "connections_imbalance", 118),
    ),
    "busiest_process_share": Column(
        read=lambda rows: list(map(_busiest, rows.runs)),
        definition="share of the busiest process in the CPU time of all processes of a command in "
        "the window: 1/N where they have equal work; NaN in journals before 2.0",
        shown=Shown("busiest process", "busiest_process_share", 139),
    ),
    "unconnected_workers": Column(
        read=lambda rows: [_connections(run).count(0) for run in rows.runs],
        definition="workers of a served run that no connection reached",
        in_frame=False,
    ),
}


# -------------------------------------------------------------------------------------------- rooms
# Columns of messages that are sent to rooms of connections: what their members received.


def _connection_bytes(rows: Rows) -> Floats:
    """Memory at the window's end over that before the first connection, for each of them.

    NaN where members stall: what is kept for these is most of it.
    """
    connections = np.array(
        of_load(lambda load: load.connections if load.rooms and load.connections else None)(rows)
    )
    ends = [
        (None, None)
        if run.cell.parameters.get(STALLED)
        else (run.memory.pss_bytes, run.memory.idle_pss_bytes)
        for run in rows.runs
    ]
    now, idle = np.array(ends, np.float64).reshape(-1, 2).T  # None is NaN
    return np.asarray((now - idle) / connections)


ROOMS = {
    "delivered_per_s": Column(
        read=of_load(lambda load: load.delivered_per_s),
        unit="messages/s",
        definition="messages that members of rooms received in the window, each by each of them, ÷ "
        "its length; NaN where nothing is sent to rooms. A request is then a message that is "
        "published, and its latency ends when the last member has it",
        better="more",
        shown=Shown("delivered/s", "delivered_per_s", 5),
    ),
    "connection_bytes": Column(
        read=_connection_bytes,
        definition="PSS of the workers at the window's end, less that before the first connection, "
        "÷ connections, where these last as long as the run: their average, with what does not "
        "depend on their number. The system's buffers are in neither; NaN where members stall",
        better="less",
        noise="PSS",
        shown=Shown("KiB/connection", "connection_kib", 117, 2.0**-10),
    ),
}


# ----------------------------------------------------------------------------------------- declined
# Columns of servers that decline requests that they cannot answer in time.

REFUSED, MISSED = "status 503", "status 504"
DECLINES = {"deadline_ms", "in_flight_limit"}  # parameters of workloads that decline requests


def _share(kind: str) -> Read:
    """Requests declined with this status ÷ those offered; NaN of workloads that decline none."""

    def of(run: RunLine) -> float:
        may = not DECLINES.isdisjoint(run.cell.parameters)
        if not may or run.load is None or not run.load.offered:
            return np.nan
        return run.load.declined.get(kind, 0) / run.load.offered

    return lambda rows: list(map(of, rows.runs))


DECLINED = {
    "refused_fraction": Column(
        read=_share(REFUSED),
        definition="requests refused (status 503) ÷ requests due, of a workload with a limit on "
        "requests in flight",
        better="less",
        shown=Shown("refused %", "refused_percent", 101, 100),
    ),
    "deadline_missed_fraction": Column(
        read=_share(MISSED),
        definition="requests given up at the deadline (status 504) ÷ requests due, of a workload "
        "with a deadline",
        better="less",
        shown=Shown("deadline missed %", "deadline_missed_percent", 102, 100),
    ),
}

"""Commands, options and study keys of 1.x that 2.0 removed, and what to use instead."""

_CLUSTER = "scaling run --cluster tls://SCHEDULER:8786 (scaling/publishing.md)"
_BUDGET = "--time 30min chooses the number of blocks, --blocks 20 sets it"

GONE = {
    "claims": "nox -s claims, in a clone of the repository",
    "export": "scaling report RESULTS --to csv (or parquet, bencher, github-action-benchmark)",
    "plot": "scaling report RESULTS",
    "quotes": "nox -s quotes, in a clone of the repository",
    "reference": "nox -s reference, in a clone of the repository",
    "gate --details": "the gate always lists what changed",
    "gate --strict": "an open bound has exit code 3; --allow-open lets it pass",
    "--ftscalingbench": "python Tools/ftscalingbench/ftscalingbench.py, from your copy of CPython",
    "--host-python": _CLUSTER,
    "--hosts": _CLUSTER,
    "--load-from": "with enough cores, the load generator has CPUs of its own",
    "--max-blocks": _BUDGET,
    "--precision": _BUDGET,
    "--profile": "scaling explain RESULTS --hold 60 keeps a cell running for your profiler",
    "--remedy": "--arm 3.14t,3.14t+eager measures these alone",
    "--soak": "--seconds 600: windows of ten minutes; memory is that at the end of each",
}


def gone(name: str, *, shown: str = "") -> str:
    """The message about a removed command or option, `shown` as typed; empty for others."""
    instead = GONE.get(name)
    return f"{shown or name} is gone since 2.0. Instead: {instead}" if instead else ""

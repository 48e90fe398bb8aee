"""A `--describe` document of an environment that need not exist, for tests of study and plan."""

from collections.abc import Mapping

from scaling.base.models import MODELS
from scaling.journal.record import (
    SCHEMA,
    Description,
    Offer,
    ParameterFacts,
    PythonFacts,
    Refusal,
    WorkloadFacts,
)

COMPUTE = WorkloadFacts(
    path="workers.workloads.compute:Compute",
    operation="callbacks",
    parameters={"iterations": ParameterFacts(type="int", default=1000, at_least=1)},
)
ECHO = WorkloadFacts(
    path="workers.workloads.echo:Echo",
    operation="round trips",
    in_flight="connections",
    refusals=[Refusal(model="interpreters", loop="uvloop", reason="uvloop will not load there")],
    parameters={
        "connections": ParameterFacts(type="int", default=8, at_least=1),
        "payload_bytes": ParameterFacts(type="int", default=1024, at_least=1),
        "api": ParameterFacts(type="str", default="protocol", choices=["protocol", "streams"]),
        "work_us": ParameterFacts(type="float", default=0.0, at_least=0),
        "tls": ParameterFacts(type="bool", default=False),
    },
)
SCRAPE = WorkloadFacts(path="workers.workloads.scrape:Scrape", services=["site"])
SERVE = WorkloadFacts(
    path="workers.workloads.serve:Serve",
    operation="requests",
    in_flight="connections",
    descriptors=1,
    served=True,
    parameters={
        "connections": ParameterFacts(type="int", default=16, at_least=1),
        "rate_per_s": ParameterFacts(type="float", default=0.0, at_least=0.01, at_most=1e6),
        "keep_alive": ParameterFacts(type="bool", default=True),
        "server": ParameterFacts(type="str", default="tcp", choices=["tcp", "asgi", "aiohttp"]),
        "accept": ParameterFacts(type="str", default="port", choices=["port", "shared"]),
        "work_us": ParameterFacts(type="float", default=0.0, at_least=0),
        "garbage_per_request": ParameterFacts(type="int", default=0, at_least=0),
    },
)
NAP = WorkloadFacts(
    path="naps:Nap",
    finite=True,
    in_flight="in_flight",
    scaled=["naps", "in_flight"],
    parameters={
        "naps": ParameterFacts(type="int", default=1_000_000, at_least=1),
        "in_flight": ParameterFacts(type="int", default=10_000, at_least=2),
        "pause_us": ParameterFacts(type="int", default=1_000),
        "eager": ParameterFacts(type="bool", default=True),
    },
)
WORKLOADS = {"compute": COMPUTE, "echo": ECHO, "scrape": SCRAPE}


def description(
    *,
    workloads: Mapping[str, WorkloadFacts] = WORKLOADS,
    refused_loops: Mapping[str, str] | None = None,
    refused_models: Mapping[str, str] | None = None,
) -> Description:
    """An environment with these workloads; `refused_…` have the reason by loop or model."""
    loops, models = refused_loops or {}, refused_models or {}
    return Description(
        schema=SCHEMA,
        python=PythonFacts(version="3.14.7", free_threaded=True),
        loops={name: Offer(refused=loops.get(name)) for name in ("asyncio", "uvloop")},
        models={name: Offer(refused=models.get(name)) for name in MODELS},
        workloads=dict(workloads),
    )

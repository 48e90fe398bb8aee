"""The output of `--describe`: what a child can run, and its environment."""

import msgspec

type ParameterValue = bool | int | float | str | None


class PythonFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The interpreter and how it was built. `config_args` are without their paths."""

    version: str
    free_threaded: bool
    config_args: list[str] = []
    compiler: str | None = None
    pgo: bool | None = None
    lto: bool | None = None
    libc: str | None = None
    openssl: str | None = None
    allocator: str | None = None
    gil_enabled: bool | None = None
    thread_inherit_context: int | None = None
    context_aware_warnings: int | None = None


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """What an arm's child environment is made of: the interpreter and the packages in it."""

    python: PythonFacts
    packages: dict[str, str] = {}


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """A loop or a model: available, or `refused` with the reason."""

    version: str | None = None
    refused: str | None = None


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A model and loop that a workload cannot run under, and why.

    With `parameters`, it is refused with just those values of them.
    """

    model: str
    loop: str
    reason: str
    parameters: dict[str, ParameterValue] = {}


class Uneven(msgspec.Struct, frozen=True, kw_only=True):
    """Why work in flight cannot be dealt out evenly with these values of parameters."""

    reason: str
    parameters: dict[str, ParameterValue] = {}


class ParameterFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter of a workload: its type's name, default and limits."""

    type: str
    default: ParameterValue = None
    choices: list[str] | None = None
    at_least: float | None = None
    summary: str = ""


class Holds(msgspec.Struct, frozen=True, kw_only=True):
    """What a workload keeps in memory: as many objects as the parameter `count` says.

    An object takes at most the bytes that `bytes_each` has for the value of the parameter `by`.
    Workers in threads share one copy, unless a parameter has the value that `own_copies` names.
    With the one that `in_service` names all workers share one, which a service has.
    """

    what: str
    count: str
    by: str
    bytes_each: dict[str, int]
    own_copies: dict[str, str] = {}
    in_service: dict[str, str] = {}


class Rounds(msgspec.Struct, frozen=True, kw_only=True):
    """How finite work is done in rounds: whole parts of it, one after the other.

    The parameter `amount` is how much work there is, and `part` how much of it one part is. Parts
    have no timers unless the parameter `delay` is above 0.
    """

    amount: str
    part: str
    delay: str


class WorkloadFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One workload as its class describes it; `refused` says why it could not be imported.

    `operation` is what it counts, `sent` what a load generator sends it.
    `scaled` are the parameters that say how much is done, which `--scale` multiplies; it is done
    in multiples of the parameter `whole`, if there is one.
    `descriptors` are the open files that each unit in flight holds. `uneven` lists with which
    parameters work in flight cannot be dealt out evenly. `alone` is why its runs are not measured
    in turn with others; None if they can be: those of finite work by `rounds`. `holds` is what
    takes much memory. `divided` is the parameter that all workers divide, and the one that says in
    its place what each has.
    """

    path: str
    summary: str = ""
    operation: str = "operations"
    sent: str = "requests"
    finite: bool = False
    served: bool = False
    alone: str | None = "it does not say that it can be stopped"
    scaled: list[str] = []
    whole: str | None = None
    in_flight: str | None = None
    descriptors: int = 0
    services: list[str] = []
    holds: Holds | None = None
    rounds: Rounds | None = None
    divided: tuple[str, str] | None = None
    refused: str | None = None
    refusals: list[Refusal] = []
    uneven: list[Uneven] = []
    parameters: dict[str, ParameterFacts] = {}


class Description(Environment, frozen=True, kw_only=True):
    """What `python -m workers --describe` prints."""

    schema: int
    loops: dict[str, Offer] = {}
    models: dict[str, Offer] = {}
    workloads: dict[str, WorkloadFacts] = {}

"""The options of `scaling app`, each declared once, as a field of `AppAsked`."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from scaling.base.errors import UsageError
from scaling.study.application_note import ApplicationNote
from scaling.study.definition import option
from scaling.study.kinds import (
    MOST,
    SWITCH,
    TEXT,
    Kind,
    checked_rate,
    count_up_to,
    one_of,
)

INTERFACES = ("auto", "asgi", "aiohttp", "wsgi")
LIFESPANS = ("auto", "on", "off")
PORT = "{port}"
MOST_IN_A_POOL = 1_000  # threads; N loops have N times as many
FREE, GIL = "3.14t", "3.14"  # the builds that are compared unless others are given

# Half of the baseline's peak: busy, and not so busy that latency is all queueing.
DEFAULT_RATE = "50%"

YOURS, LOAD = "The application", "How it is loaded"  # headings of `--help`


def _checked_budget(text: str, where: str) -> str:
    name, _, amount = text.partition("=")
    if not (name.isidentifier() and amount.isdecimal() and int(amount) > 0):
        raise UsageError(f"{where} {text}: expected a name and a number, as in db=20")
    return text


def _checked_rate(text: str, where: str) -> float | str:
    """Requests/s, a share of the peak, or `grid`."""
    try:
        rate = float(text)
    except ValueError:
        return checked_rate(text, where)
    if not 0 < rate < float("inf"):
        raise UsageError(
            f"{where}: expected requests/s above 0, got {text!r}; the peak is always measured"
        )
    return rate


def _checked_command(text: str, where: str) -> str:
    if PORT not in text:
        raise UsageError(
            f"{where} {text!r} has no {PORT}: write {PORT} in place of the port to listen on, "
            "and {workers} in place of the number of workers"
        )
    return text


HEALTH = Kind(pattern="/.*", noun="a path", example="/ready", metavar="/PATH")
BUDGETS = Kind(several=True, kept=_checked_budget, metavar="NAME=N")
POOLS = replace(count_up_to(MOST_IN_A_POOL), several=True, noun="threads", metavar="N,…")
RATES = Kind(several=True, kept=_checked_rate, metavar="N,…")
MIXED = Kind(of=int, least=2, most=256, noun="threads", metavar="K")
COMMAND = replace(TEXT, kept=_checked_command)


@dataclass(frozen=True, kw_only=True)
class AppAsked:
    """The application that `scaling app` measures, and how it is loaded.

    `rates` are requests/s of all workers together, shares of the peak, or `grid`. `builds` are the
    build with the GIL and the build without. `threads_only` leaves processes out: a check needs
    none.
    """

    application: str
    factory: bool = option(
        False,
        SWITCH,
        "NAME is a function that returns an application; it is called for each loop.",
        "--factory",
        YOURS,
    )
    interface: str = option(
        "auto",
        one_of(INTERFACES, "interface"),
        "auto (the default), asgi, aiohttp or wsgi.",
        "--interface",
        YOURS,
    )
    lifespan: str = option(
        "auto",
        replace(one_of(LIFESPANS, "lifespan"), metavar="on|off"),
        "Run ASGI lifespans: auto (the default), on or off.",
        "--lifespan",
        YOURS,
    )
    health: str = option(
        "", HEALTH, "A path that answers once the application is ready.", "--health", YOURS
    )
    budgets: Sequence[str] = option(
        (),
        BUDGETS,
        "A limit to divide among workers: db=20. Each reads its share from SCALING_BUDGET_DB.",
        "--budget",
        YOURS,
    )
    rates: Sequence[float | str] = option(
        (),
        RATES,
        "Rates to measure besides the peak: requests/s, 50% of the peak (the default), or grid.",
        "--rate",
        LOAD,
    )
    connections: int | None = option(
        None, count_up_to(MOST), "Connections per worker.", "--connections", LOAD
    )
    pools: Sequence[int] = option(
        (),
        POOLS,
        "Sizes of each loop's thread pool to compare: 1,4,40. The pool runs work that blocks "
        "(asyncio.to_thread, endpoints that are not coroutines).",
        "--pool",
        LOAD,
    )
    command: str = option(
        "",
        COMMAND,
        "Also measure the server that this command starts; it contains {port} and {workers}.",
        "--command",
        LOAD,
    )
    full: bool = option(
        False,
        SWITCH,
        "Add a grid of rates, the asyncio loop, and the effect of allocator, build and GIL.",
        "--full",
        LOAD,
    )
    mixed: int | None = option(
        None,
        MIXED,
        "Add processes with K threads each; all models are also compared at 2 K workers.",
        "--mixed",
        LOAD,
    )
    threads_only: bool = False
    builds: tuple[str, str] = (GIL, FREE)
    note: ApplicationNote = field(default_factory=ApplicationNote)

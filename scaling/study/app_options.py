"""What `scaling app` asks of an application: each option is declared once, as a field."""

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
            f"{where}: expected requests/s above 0, got {text!r}; the peak is measured in any case"
        )
    return rate


def _checked_command(text: str, where: str) -> str:
    if PORT not in text:
        raise UsageError(
            f"{where} {text!r} has no {PORT}: write {PORT} where the port to listen on belongs, "
            "and {workers} where the number of workers does"
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
    """What is asked of `scaling app`: the application and how it is loaded.

    `rates` are requests/s of all workers together, shares of the peak, or `grid`. `builds` are the
    one with the GIL and the one without. `threads_only` leaves processes out: a check of the
    application needs none.
    """

    application: str
    factory: bool = option(
        False,
        SWITCH,
        "NAME is a function that makes the application, for each loop.",
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
        "Whether ASGI lifespans are run.",
        "--lifespan",
        YOURS,
    )
    health: str = option("", HEALTH, "A path that answers once it is ready.", "--health", YOURS)
    budgets: Sequence[str] = option(
        (),
        BUDGETS,
        "A limit to divide among workers: db=20. They read a share as SCALING_BUDGET_DB.",
        "--budget",
        YOURS,
    )
    rates: Sequence[float | str] = option(
        (),
        RATES,
        "Rates besides the peak: requests/s, 50% of the peak (the default), or grid.",
        "--rate",
        LOAD,
    )
    connections: int | None = option(
        None, count_up_to(MOST), "Connections per worker.", "--connections", LOAD
    )
    pools: Sequence[int] = option(
        (),
        POOLS,
        "Threads in each loop's pool, for work that blocks (asyncio.to_thread, endpoints "
        "that are not coroutines): compares sizes, as in 1,4,40.",
        "--pool",
        LOAD,
    )
    command: str = option(
        "",
        COMMAND,
        "Also measure this command, with {port} and {workers} in it.",
        "--command",
        LOAD,
    )
    full: bool = option(
        False,
        SWITCH,
        "Add a grid of rates, asyncio, and what allocator, build and GIL each do.",
        "--full",
        LOAD,
    )
    mixed: int | None = option(
        None,
        MIXED,
        "Add processes with K threads each, and compare all at 2 K workers, too.",
        "--mixed",
        LOAD,
    )
    threads_only: bool = False
    builds: tuple[str, str] = (GIL, FREE)
    note: ApplicationNote = field(default_factory=ApplicationNote)

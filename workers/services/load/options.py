"""The command line of the load generator, checked before anything is sent."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from workers.limits import CONNECTIONS_MOST, MESSAGE_BYTES_MOST, RATE_LEAST, RATE_MOST
from workers.services.load.part import ARRIVALS, Load, Overload
from workers.services.load.request import Request
from workers.services.load.requests_list import TYPES, read_requests
from workers.services.load.targets import ROOMS, BadInputError, Target, parse_target
from workers.services.serving import between

SECONDS_MOST = 3_600
PROCESSES_MOST = 64
REQUESTS_MOST = 50_000_000
OVERLOAD = {"FACTOR": (0.01, 1_000), "AFTER_S": (0, SECONDS_MOST), "S": (0, SECONDS_MOST)}
MODULE = "workers.services.load"
REQUESTS = f"JSON lines with any of: {' '.join(TYPES)}"
LATER = "-"  # in place of a URL: the driver gives servers and requests


@dataclass(frozen=True, kw_only=True)
class Options(Load):
    """The command line: the whole load, and how it is measured.

    Without `targets`, the driver gives them and the requests.
    """

    seconds: float
    warmup_s: float
    json: bool
    histograms: bool
    instants: bool
    until_eof: bool
    remote: bool


def parser() -> argparse.ArgumentParser:
    """Make the parser of `python -m workers.services.load`."""
    made = argparse.ArgumentParser(
        prog=f"python -m {MODULE}",
        usage=f"python -m {MODULE} URL [URL …] --rate N|max [options]; -h lists them",
        description="Send requests to a server and measure latency from the time they were due.",
        epilog="Exit code: 0 measured, 1 invalid result, 2 bad usage or server not reached.",
        allow_abbrev=False,
    )
    add = made.add_argument
    add(
        "urls",
        nargs="+",
        metavar="URL",
        help="http://…, tcp://HOST:PORT, or rooms at ws://… or sse://…; several are dealt; -, with "
        "--instants: read a line "
        '{"urls": […], "requests": […]} from standard input first',
    )
    rate_help = "requests/s; max: closed loop"
    add("--rate", type=_rate, required=True, metavar="N|max", dest="rate_per_s", help=rate_help)
    add("--arrivals", choices=ARRIVALS, default="poisson", help="gaps between requests (poisson)")
    overload_help = "from AFTER_S seconds on, S seconds with FACTOR times the rate"
    add("--overload", nargs=len(OVERLOAD), metavar=tuple(OVERLOAD), help=overload_help)
    seconds_help = "length of the measurement (10)"
    seconds = partial(between, float, most=SECONDS_MOST)
    count = partial(between, int, 1)
    add("--seconds", type=seconds(0.1), default=10.0, help=seconds_help)
    add("--warmup", type=seconds(0), default=1.0, dest="warmup_s", help="load before it (1)")
    connections, processes = count(CONNECTIONS_MOST), count(PROCESSES_MOST)
    add("--connections", type=connections, default=64, metavar="C", help="at most in use (64)")
    add("--processes", type=processes, default=1, metavar="K", help="generator processes (1)")
    add("--seed", type=int, default=1, help="of arrivals and of the choice of requests (1)")
    add("--requests", metavar="FILE", help=REQUESTS)
    add("--no-keepalive", action="store_false", dest="keepalive", help="a connection per request")
    add("--timeout", type=seconds(0.01), default=10.0, dest="timeout_s", help="of an answer (10)")
    add(
        "--slices",
        action="store_true",
        help='with --instants and --rate max: for each slice a line {"resume": true}, and one of '
        "its instants; then an empty object",
    )
    add("--json", action="store_true", help="print one JSON object")
    add("--histograms", action="store_true", help="with --json: histograms of each sub-window")
    add("--remote", action="store_true", help="allow a server that is not on this machine")
    add("--until-eof", action="store_true", help="give up when standard input ends")
    add(
        "--instants",
        action="store_true",
        help='print a line when connected, then read {"instants_ns": [first, …, last]} '
        "(monotonic) from standard input in place of --seconds; ends when standard input does",
    )
    return made


def read_options(made: argparse.ArgumentParser, arguments: Sequence[str]) -> Options:
    """Read the command line; a bad one ends the program with exit code 2."""
    result = made.parse_args(arguments)
    if result.processes > result.connections:
        made.error(f"{result.processes} processes cannot share {result.connections} connections")
    if result.rate_per_s and result.rate_per_s * (result.seconds + result.warmup_s) > REQUESTS_MOST:
        made.error(f"more than {REQUESTS_MOST:,} requests; lower --rate or --seconds")
    if result.overload:
        result.overload = _overload(made, result)
    if result.slices and (result.rate_per_s or not result.instants):
        made.error("--slices needs --instants and --rate max")
    if LATER in result.urls and not (result.instants and len(result.urls) == 1):
        made.error(f"{LATER} stands alone, and with --instants")
    asked = {name: value for name, value in vars(result).items() if name != "urls"}
    asked["until_eof"] = result.until_eof or result.instants
    options = Options(targets=(), **{**asked, "requests": ()})
    if result.urls == [LATER]:
        return options
    try:
        requests = read_requests(result.requests) if result.requests else [Request()]
        return with_targets(options, result.urls, requests)
    except BadInputError as error:
        made.error(str(error))


def with_targets(options: Options, urls: Sequence[str], requests: Sequence[Request]) -> Options:
    """The options with these servers and requests.

    Raises:
        BadInputError: a server cannot be loaded, or not with these options.
    """
    if len(urls) > options.connections:
        raise BadInputError(f"{len(urls)} servers need at least as many connections")
    if all(each.background for each in requests):
        raise BadInputError("all requests are background ones: there is no latency to measure")
    targets = [parse_target(url, remote=options.remote) for url in urls]
    if len({target.scheme for target in targets}) > 1:
        raise BadInputError("URLs of different schemes cannot be mixed")
    needs_http = any(each.websocket or each.save for each in requests)
    if needs_http and targets[0].scheme != "http":
        raise BadInputError(f"{urls[0]}: websocket and save need an http:// URL")
    if targets[0].scheme in ROOMS:
        requests = [_to_rooms(requests, targets[0], options)]
    return replace(options, targets=targets, requests=requests)


def _to_rooms(requests: Sequence[Request], target: Target, options: Options) -> Request:
    """The message that is published to all rooms.

    Raises:
        BadInputError: it is not one message, is too long or has no due times; or rooms cannot be of
            one size, or not have so many stalled members.
    """
    if options.rate_per_s is None:
        raise BadInputError("messages to rooms need a --rate")
    if len(requests) > 1:
        raise BadInputError("messages to rooms are all alike: give one request")
    message = requests[0]
    rooms, rest = divmod(options.connections, message.room)
    if rest:
        raise BadInputError(
            f"{options.connections:,} connections cannot be in rooms of {message.room:,}"
        )
    if rooms < options.processes:
        raise BadInputError(
            f"{options.processes} processes need a room each: {options.connections:,} connections "
            f"in rooms of {message.room:,} are too few"
        )
    if message.stalled > (rooms if message.room > 1 else 0):
        raise BadInputError(
            f"stalled={message.stalled} needs as many rooms, with a member that reads in each"
        )
    if len(message.body.encode()) > MESSAGE_BYTES_MOST:
        raise BadInputError(f"a message to rooms has at most {MESSAGE_BYTES_MOST:,} bytes")
    return replace(message, path=(message.path or target.path).rstrip("/"))


def _overload(made: argparse.ArgumentParser, result: argparse.Namespace) -> Overload:
    """The overload that is asked for, each number within its own limits."""
    numbers = []
    for (name, limits), text in zip(OVERLOAD.items(), result.overload, strict=True):
        try:
            numbers.append(between(float, *limits)(text))
        except argparse.ArgumentTypeError as error:
            made.error(f"argument --overload: {name}: {error}")
    overload = Overload(*numbers)
    ends_s = overload.after_s + overload.lasts_s
    if not result.rate_per_s:
        made.error("--overload needs a --rate: in a closed loop nothing is due")
    if ends_s > result.seconds and not result.instants:
        made.error(f"--overload ends after {ends_s:g} s: --seconds must be at least {ends_s:g}")
    return overload


def _rate(text: str) -> float | None:
    if text == "max":
        return None
    try:
        return between(float, RATE_LEAST, RATE_MOST)(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}; max is a closed loop") from None

"""`python -m workers.services.load URL --rate N`: load a server, for a study or for anyone."""

import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from itertools import pairwise

STDIN = 0
CHUNK_BYTES = 4_096


def main(arguments: Sequence[str]) -> int:
    """Load the servers; return the exit code (2: bad usage or not reached, 1: invalid result)."""
    # Imported here, where Ctrl-C is already caught.
    from workers.services.load.coordinator import GeneratorError, generate, wait_for_input
    from workers.services.load.options import parser, read_options
    from workers.services.load.printout import printout
    from workers.services.load.summary import summarize

    made = parser()
    options = read_options(made, arguments)

    def instants() -> list[int]:
        print(json.dumps({"connections": options.connections}), flush=True)
        wait_for_input(sys.stdin.buffer)
        read = read_instants(sys.stdin.buffer.readline())
        _end_with_stdin()
        return read

    if options.until_eof and not options.instants:
        _end_with_stdin()
    try:
        reports, instants_ns = generate(options, instants if options.instants else None)
    except (GeneratorError, ValueError) as error:
        made.exit(2, f"{made.prog}: {error}\n")
    summary = summarize(reports, instants_ns, histograms=options.histograms)
    print(json.dumps(summary) if options.json else printout(summary), flush=True)
    return 1 if summary["invalid"] else 0


def read_instants(line: bytes) -> list[int]:
    """Read the instants that the driver wrote.

    Raises:
        ValueError: they are not at least two rising whole numbers, or the last has passed.
    """
    try:
        read = json.loads(line)["instants_ns"]
        rising = all(early < late for early, late in pairwise(read))
        good = len(read) > 1 and rising and all(type(each) is int for each in read)
    except (ValueError, KeyError, TypeError):
        read, good = [], False
    if not good:
        raise ValueError('expected a line {"instants_ns": [first, …, last]} on standard input')
    if read[-1] < time.monotonic_ns():
        raise ValueError("the last instant has passed")
    return list(read)


def _end_with_stdin() -> None:
    """End at once when standard input ends: whoever wanted the result is gone."""

    def wait() -> None:
        try:
            while os.read(STDIN, CHUNK_BYTES):
                pass
        except OSError:
            pass
        os._exit(1)  # the generator processes end with their standard inputs

    threading.Thread(target=wait, name="stdin", daemon=True).start()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # whoever read the output has seen enough
        os._exit(0)

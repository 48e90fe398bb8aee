"""`python -m workers.services.load URL --rate N`: load a server, for a study or for anyone."""

import json
import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Load the servers; return the exit code (2: bad usage or not reached, 1: invalid result)."""
    # Imported here, where Ctrl-C is already caught.
    from workers.services.load.coordinator import Driver, GeneratorError, generate
    from workers.services.load.options import parser, read_options
    from workers.services.load.summary import dealt, printout, summarize
    from workers.services.load.targets import BadInputError

    made = parser()
    options = read_options(made, arguments)
    driver = Driver(listens=options.instants) if options.until_eof else None
    try:
        reports, instants_ns = generate(options, driver if options.instants else None)
    except (GeneratorError, BadInputError, ValueError) as error:
        made.exit(2, f"{made.prog}: {error}\n")
    summary = summarize(reports, instants_ns, histograms=options.histograms)
    if options.instants:  # a driver hides them
        summary["secrets"] = sorted({each for report in reports for each in report["secrets"]})
    text = printout(summary, dealt(options.connections, len(options.targets)))
    print(json.dumps(summary) if options.json else text, flush=True)
    exit_code = 1 if summary["invalid"] else 0
    if driver and options.instants:
        driver.wait_for_end(exit_code)
    return exit_code


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader of the output has ended, as `head` does
        os._exit(0)

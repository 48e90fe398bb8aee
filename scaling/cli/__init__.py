"""The command line: one file per command; `main` is what `scaling` runs.

To add a command, write its file, with a function of the same name, and add it to `COMMANDS`.
"""

import importlib
import sys

from scaling.base.errors import INTERRUPTED, ScalingError
from scaling.cli.encoding import print_in_any_encoding

# In the order in which `scaling --help` lists them: before a study, during, after, and around it.
COMMANDS = (
    "doctor",
    "interpreters",
    "study",
    "plan",
    "run",
    "app",
    "remedies",
    "reference",
    "show",
    "report",
    "plot",
    "compare",
    "explain",
    "claims",
    "gate",
    "export",
    "publish",
    "quotes",
)

__all__ = ["COMMANDS", "main"]

try:
    for name in COMMANDS:
        importlib.import_module(f"scaling.cli.{name}")
except KeyboardInterrupt:  # Ctrl-C while it starts
    raise SystemExit(INTERRUPTED) from None


def main() -> None:
    """Run the command line; errors are printed in a line or two, and end with their exit code."""
    from scaling.cli import program

    print_in_any_encoding()
    arguments = sys.argv[1:] or ["--help"]
    try:
        raise SystemExit(program.app(arguments, prog_name="scaling", standalone_mode=False) or 0)
    except ScalingError as error:
        fail(str(error), error.exit_code)
    except BrokenPipeError:  # the output went to `head`, which has read enough
        sys.stderr.close()
        raise SystemExit(1) from None
    except Exception as error:
        # Typer's own errors (an unknown command or option) have no public class in common.
        if not hasattr(error, "format_message"):
            raise
        command = getattr(getattr(error, "ctx", None), "command_path", "scaling")
        message = error.format_message()
        stop = "" if message.endswith((".", "?")) else "."
        fail(f"{message}{stop} For help: {command} --help", 2)


def fail(message: str, exit_code: int) -> None:
    """Print why it does not work, and exit."""
    print(f"scaling: {message}", file=sys.stderr)
    raise SystemExit(exit_code) from None

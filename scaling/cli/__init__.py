"""The command line, a file for each group of commands; `main` is what `scaling` runs."""

import sys

# In the order in which the commands are to be listed:
# isort: off
from scaling.cli import study
from scaling.cli import results
from scaling.cli import show
from scaling.cli import report
from scaling.cli import export
from scaling.cli import publish
from scaling.cli import claims
from scaling.cli import gate
from scaling.cli import machine

# isort: on
from scaling.base.errors import ScalingError
from scaling.cli.app import app
from scaling.cli.encoding import tell_in_any_encoding

__all__ = [
    "app",
    "claims",
    "export",
    "gate",
    "machine",
    "main",
    "publish",
    "report",
    "results",
    "show",
    "study",
]


def main() -> None:
    """Run the command line; what a user is told when it goes wrong is a line or two."""
    tell_in_any_encoding()
    try:
        app()
    except ScalingError as error:
        print(f"scaling: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    except BrokenPipeError:  # somebody piped us into `head`
        sys.stderr.close()
        raise SystemExit(1) from None

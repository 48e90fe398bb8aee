"""`scaling show`: a study in the terminal."""

from scaling.base.console import new_console
from scaling.cli.program import Json, Results, command


@command(90, "show results/compare --details")
def show(results: Results, /, *, details: bool = False, as_json: Json = False) -> None:
    """Print the answer of a study; write nothing.

    Args:
        details: Print all tables after the answer.
    """
    from scaling.report.output import show

    json_to = new_console() if as_json else None
    show(results, new_console(stderr=as_json), details=details, json_to=json_to)

"""`scaling show`: a study in the terminal."""

from scaling.base.console import new_console
from scaling.cli.program import Results, app


@app.command()
def show(results: Results) -> None:
    """Print the tables, small curves and comparison of a study; write nothing."""
    from scaling.report.terminal.show import show

    show(results, new_console())

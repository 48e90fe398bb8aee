"""`scaling publish`: copies a study to a folder that can be committed."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from scaling.base.console import new_console
from scaling.cli.program import Results, command


@command(140, "publish results/compare results/published/my-machine/compare")
def publish(
    results: Results,
    folder: Annotated[Path, Parameter(name="DIR")],
    /,
    *,
    replace: bool = False,
) -> None:
    """Copy a study to a folder that can be committed: packed journal, tables, plots, page.

    If DIR is PUBLISHED/MACHINE/STUDY and PUBLISHED has an index page, the index page is written
    again.

    Args:
        folder: Folder to publish the study in; it is made if needed.
        replace: Replace another study that was published there.
    """
    from scaling.report.index import is_index, write_index
    from scaling.report.publish import PAGE, publish

    publish(results, folder, new_console(), replace=replace)
    published = folder.absolute().parent.parent
    if is_index(published / PAGE):
        write_index(published)

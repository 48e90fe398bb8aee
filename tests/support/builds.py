"""Which tests run on which build: on 3.14t those of these places, as the noxfile says."""

from collections.abc import Set as AbstractSet
from pathlib import Path

from tests.support.children import ROOT

ON_3_14T = ("tests/workers", "tests/analysis/test_scaling_works_on_every_build.py")


def is_of_no_build(path: Path, marks: AbstractSet[str]) -> bool:
    """Whether neither build runs a test of this file with these marks."""
    if "free_threaded" not in marks:
        return False
    return "one_build" in marks or not any(path.is_relative_to(ROOT / each) for each in ON_3_14T)

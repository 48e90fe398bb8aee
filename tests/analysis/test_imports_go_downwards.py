"""No files import in circles; the layers of pyproject.toml are checked by the lint session."""

from graphlib import TopologicalSorter

import grimp
import pytest

pytestmark = pytest.mark.slow


def test_no_file_imports_itself_through_others() -> None:
    """Not for its types alone, either; graphlib raises an error that names the circle."""
    graph = grimp.build_graph("scaling", "workers", cache_dir=None)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    TopologicalSorter(imports).prepare()

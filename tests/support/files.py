"""Files under a folder that stands for the root of another machine."""

from collections.abc import Mapping
from pathlib import Path


def tree(root: Path, files: Mapping[str, str]) -> Path:
    """Write each text to its path under `root`, and return `root`."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root

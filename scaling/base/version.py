"""The version number: written into journals, the wheel and `--version`."""

__version__ = "1.1.0"

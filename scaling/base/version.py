"""The version number: written into journals, the wheel and `--version`."""

__version__ = "0.1.0"

"""The version number: written into journals, the wheel and `--version`."""

__version__ = "0.2.0"

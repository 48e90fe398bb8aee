"""The version number: written into journals, the wheel and `--version`."""

__version__ = "2.0.0"

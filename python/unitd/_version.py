"""The version of this package; the wheel has its own."""

__version__ = "0.0.0.dev0"

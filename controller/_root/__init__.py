"""Root of the ``adaptive_depth`` distribution; the code lives in its five sub-packages."""

__version__ = "0.1.0"

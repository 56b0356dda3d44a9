"""The replay as one self-contained page: tables, definitions and inline figures, no script and no network."""

from adaptive_depth.sim.report.html.page import write_html

__all__ = ["write_html"]

"""Depth rules: (batch, estimates) -> plan. One rule a file; importing this package registers all of them."""

from __future__ import annotations

from adaptive_depth.policies import marginal, sglang_ema, static

__all__ = ["marginal", "sglang_ema", "static"]

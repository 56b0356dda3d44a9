"""Depth rules: (batch, estimates) -> plan. One rule a file; importing this package registers all of them."""

from __future__ import annotations

from adaptive_depth.policies import bandit, marginal, sglang_ema, static, throughput_aware

__all__ = ["bandit", "marginal", "sglang_ema", "static", "throughput_aware"]

"""The README's picture, from ``sim replay traces/ --json FILE``: speed against depth, and the rules' points.

usage: make_picture.py REPLAY.json FOLDER
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

#: Panels in reading order: two tasks of each model whose best depths differ.
SETS = ("q35-code-qa", "q122-code-qa", "nem-fwe", "q35-multivalue", "q122-babilong", "nem-niah-mq")
RULES = {
    "marginal": ("#2f7fd6", "o", 62),
    "sglang-ema": ("#e07b39", "s", 40),
    "throughput-aware": ("#2e9e6b", "^", 44),
    "bandit": ("#a45fc8", "D", 30),
}
Row = dict[str, Any]


def main(source: str, folder: str) -> None:
    """Draw and save."""
    rows: list[Row] = json.loads(Path(source).read_text("utf-8"))["rows"]
    figure, axes = plt.subplots(2, 3, figsize=(9.6, 5.4), sharex=True, sharey=True, layout="constrained")
    for axis, name in zip(axes.flat, SETS, strict=True):
        draw_set(axis, name, [row for row in rows if row["trace_set"] == name])
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, fontsize=9)
    figure.supxlabel(
        "drafts a round: static depth, or the rule's mean (synthetic sets, 1.04M tokens of context)",
        fontsize=9.5,
    )
    figure.supylabel("tokens/s, % of the best static depth and window", fontsize=9.5)
    Path(folder).mkdir(parents=True, exist_ok=True)
    figure.savefig(Path(folder) / "depth.png", dpi=150, metadata={"Software": None})


def draw_set(axis: Axes, name: str, rows: list[Row]) -> None:
    """One panel: the static curve, its best point and the rules."""
    curve = best_window(row for row in rows if row["role"] == "ladder")
    best = max(curve, key=curve.__getitem__)
    axis.axhline(100, color="#999999", lw=0.8, ls=":")
    axis.plot(
        *zip(*sorted(curve.items()), strict=True), "o-", color="#888888", ms=3, lw=1.3, label="static depth"
    )
    axis.plot(best, curve[best], "o", mfc="white", mec="#444444", ms=10, label="best static depth")
    for rule, (colour, marker, size) in RULES.items():
        row = next(r for r in rows if r["policy"] == rule)
        point = row["mean_depth"], 100 * (1 + row["vs_best_static"])
        axis.scatter(
            *point, s=size, c=colour, marker=marker, edgecolors="white", lw=0.7, label=rule, zorder=3
        )
    axis.set_title(f"{name}: best static depth {best}", fontsize=10, loc="left")
    axis.set_ylim(55, 108)
    axis.set_xlim(0, 8.4)
    axis.set_xticks(range(9))
    axis.tick_params(labelsize=8.5)
    axis.grid(axis="y", color="#eeeeee", lw=0.8)
    axis.spines[["top", "right"]].set_visible(False)


def best_window(ladder: Iterable[Row]) -> dict[int, float]:
    """Speed by static depth at the window that suits it best, % of the best of all."""
    curve: dict[int, float] = {}
    for row in ladder:
        depth = round(row["mean_depth"])
        curve[depth] = max(curve.get(depth, 0.0), 100 * (1 + row["vs_best_static"]))
    return curve


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The README's table: two sets and the summary, word for word from the output of ``sim replay traces/``.

usage: make_table.py OUTPUT.txt README.md
"""

from __future__ import annotations

import sys
from pathlib import Path

#: The same task on two models, whose best depths differ; the summary of all sets; what the words mean.
KEPT = ("Synthetic sets", "q122-code-qa ", "q35-code-qa ", "Best policy", "vs best static:")
BEGIN, END = "<!-- table: make docs -->", "<!-- end of table -->"


def main(output: str, readme: str) -> None:
    """Replace what stands between the two marks."""
    blocks = Path(output).read_text("utf-8").split("\n\n")
    kept = [block for block in blocks if block.lstrip().startswith(KEPT)]
    if len(kept) != len(KEPT):
        raise SystemExit(f"{output}: found {len(kept)} of {len(KEPT)} parts of the table")
    before, _, rest = Path(readme).read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    lines = "\n\n".join(kept).rstrip().splitlines()
    table = "\n".join(line.rstrip() for line in lines)
    Path(readme).write_text(f"{before}{BEGIN}\n```text\n{table}\n```\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

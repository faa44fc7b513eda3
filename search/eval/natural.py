"""Makes the natural sets: requests as people say them, over real tools, with few words in common.

    python natural.py --data DIR --out DIR

`natural.jsonl` is ours and was written by hand; the tools are those of one server in thirteen of the
crawl in `--data` (docs/search.md). Every other request is for choosing (`natural_dev`); the rest
(`natural_test`) is for measuring only.
"""
import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "train"))

import data  # noqa: E402
from held_out import write  # noqa: E402

SETS = ("natural_dev", "natural_test")


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--data", type=Path, required=True)
    ask.add_argument("--out", type=Path, required=True)
    given = ask.parse_args()
    for name, (tools, rows) in sets(given.data).items():
        write(given.out / name, tools, rows)


def sets(folder):
    tools = data.natural(folder)
    known = {tool["id"] for tool in tools}
    rows = []
    for at, row in enumerate(json.loads(line) for line in (HERE / "natural.jsonl").read_text().splitlines()):
        missing = [tool for tool in row["tools"] if tool not in known]
        if missing:
            raise SystemExit(f"natural.jsonl, line {at + 1}: there is no tool {missing[0]} in the crawl")
        rows.append((f"n{at}", row["text"], row["tools"]))
    return {name: (tools, rows[side::len(SETS)]) for side, name in enumerate(SETS)}


if __name__ == "__main__":
    main()

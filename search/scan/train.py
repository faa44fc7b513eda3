"""Trains the likeness of the scanner: which words stand in texts that lie, and which in honest ones.

Python 3 without packages. Reads the scanner's own sets (the parts that are not held out) and honest
definitions (`--data`, the sets of the search), writes `weights.bin`: one signed byte for each of 32,768
buckets of words and pairs of words. Prints what `rules.json` has to say under `likeness`.

    python3 search/scan/train.py --data DIR
"""

import argparse
import json
import math
import pathlib
import random
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCAN = ROOT / "crates/catalog/src/scan"
BUCKETS = 1 << 15
WINDOW, STRIDE = 64, 32
WORD = re.compile(r"[^\W_]+")
FIRST = re.compile(r"(?<=[.!?;:])\s|\n")
SCALE = 16.0


def fnv(text):
    value = 0x811C9DC5
    for byte in text.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value % BUCKETS


def windows(text):
    """The features of each window of the text, as `likeness.rs` makes them."""
    words = [word.lower() for word in WORD.findall(text)]
    for start in range(0, max(len(words), 1), STRIDE):
        part = words[start : start + WINDOW]
        if len(part) < 4:
            continue
        found = {fnv(word) for word in part}
        found |= {fnv(a + " " + b) for a, b in zip(part, part[1:])}
        yield sorted(found)
        if start + WINDOW >= len(words):
            return


def rest(description):
    """Behind the first sentence, which says what the tool does."""
    parts = FIRST.split(description, maxsplit=1)
    return parts[1] if len(parts) > 1 else ""


def item(description, params, is_tool=True):
    texts = [rest(description) if is_tool else description, *params]
    return [window for text in texts for window in windows(text)]


def lines(path):
    return [json.loads(line) for line in open(path, encoding="utf-8")]


def is_held_out(name, description):
    value = 0xCBF29CE484222325
    for byte in (name + description).encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value % 3 == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True, type=pathlib.Path)
    data = parser.parse_args().data
    random.seed(7)
    examples = []
    for row in lines(SCAN / "testdata/poisoned.jsonl"):
        if not row["held_out"] and row["class"] not in ("unicode", "ansi", "lookalike", "encoded"):
            # Only in the class `schema` the parameters are what lies.
            params = row["params"].values() if row["class"] == "schema" else []
            found = item(row["description"], params, row["kind"] == "tool")
            examples += [(window, 1, 15.0) for window in found]
    for row in lines(SCAN / "testdata/honest.jsonl"):
        if not row["held_out"]:
            found = item(row["description"], row["params"].values(), row["kind"] == "tool")
            examples += [(window, 0, 15.0) for window in found]
    honest, seen = [], set()
    for name in ("bfcl", "bfcl_live", "stabletoolbench", "toucan_servers"):
        for row in lines(data / name / "corpus.jsonl"):
            key = (row["name"], row["description"])
            if key in seen or is_held_out(*key):
                continue
            seen.add(key)
            honest.append(item(row["description"], [about for _, about in row["params"]]))
    random.shuffle(honest)
    tuned, judged = honest[:8000], honest[8000:]
    examples += [(window, 0, 1.0) for windows_ in tuned for window in windows_]
    weights, bias = train(examples)
    peak = max(abs(weight) for weight in weights)
    scale = min(SCALE, 127.0 / peak)
    (SCAN / "weights.bin").write_bytes(bytes(round(weight * scale) & 0xFF for weight in weights))

    def score(window):
        whole = sum(round(weights[at] * scale) for at in window)
        return bias * scale + whole / math.sqrt(len(window) + 1)

    scores = sorted(max((score(window) for window in found), default=-999) for found in judged)
    at = {share: round(scores[int(len(scores) * (1 - share))] * 100) for share in (0.005, 0.01, 0.02, 0.05)}
    print("bias", round(bias * scale * 100), "thresholds at shares of honest definitions", at)


def train(examples):
    weights, bias, rate = [0.0] * BUCKETS, -3.0, 0.2
    for _ in range(5):
        random.shuffle(examples)
        for window, label, weight in examples:
            norm = 1 / math.sqrt(len(window) + 1)
            z = bias + norm * sum(weights[at] for at in window)
            p = 1 / (1 + math.exp(-max(-30.0, min(30.0, z))))
            step = (p - label) * weight * rate
            if abs(step) > 1e-3:
                for at in window:
                    weights[at] -= step * norm
                bias -= step * 0.1
        rate *= 0.8
    return weights, bias


main()

"""Makes the model of `crates/search`: one command, one seed.

    OPENBLAS_NUM_THREADS=1 python train.py --data DIR --held-out DIR --out ../../crates/search/data

DIR of `--data` holds the sets named in docs/search.md; DIR of `--held-out` what
`search/eval/held_out.py` made, read only to keep its tools out of the training text. With
`--head-only` the table in `--out` stays as it is and the classifier is made anew for it.
"""
import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.sparse import vstack

import data
import static
from teacher import Teacher, unit
from text import Pieces, tool_text
from texts import kept, taught

HELD_OUT = ("livemcp_task", "mcptoolbenchpp")


def arguments():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--data", type=Path, required=True)
    ask.add_argument("--held-out", type=Path)
    ask.add_argument("--out", type=Path, required=True)
    ask.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "trunkline-search", help="the teacher's answers")
    ask.add_argument("--head-only", action="store_true")
    ask.add_argument("--seed", type=int, default=7)
    ask.add_argument("--size", type=int, default=14_000, help="pieces in the vocabulary")
    ask.add_argument("--width", type=int, default=256)
    ask.add_argument("--epochs", type=int, default=8)
    ask.add_argument("--rate", type=float, default=0.012)
    ask.add_argument("--scale", type=float, default=16.0)
    ask.add_argument("--distil-epochs", type=int, default=8)
    ask.add_argument("--distil-rate", type=float, default=0.03)
    given = ask.parse_args()
    if not given.head_only and given.held_out is None:
        ask.error("--held-out is needed: its tools must not be trained on")
    return given


def say(text, start=time.monotonic()):
    print(f"{time.monotonic() - start:7.1f} s  {text}", flush=True)


class Material:
    """Everything that is read and does not depend on how the table is trained."""

    def __init__(self, given):
        self.random = np.random.default_rng(given.seed)
        self.teacher = Teacher()
        tools = data.servers(given.data, [given.held_out / name for name in HELD_OUT])
        self.documents, asked = data.pairs(given.data, tools)
        self.texts = [tool_text(tool) for tool in self.documents]
        self.asked = sorted({text for text, _ in asked})
        place = {text: at for at, text in enumerate(self.asked)}
        self.pairs = np.array([(place[text], at) for text, at in asked])
        say(f"{len(self.documents)} tools, {len(self.asked)} requests, {len(self.pairs)} pairs")
        self.vocabulary = static.choose_vocabulary(self.texts + self.asked, self.teacher, given.size)
        self.pieces = Pieces(self.vocabulary)
        self.tool_bags = static.bag(self.pieces, self.texts)
        self.asked_bags = static.bag(self.pieces, self.asked)
        say(f"{len(self.vocabulary)} pieces")
        self.piece_vectors = kept(
            self.teacher, [piece.removeprefix("##") for piece in self.vocabulary], given.cache, say)
        asked_at, tools_at, self.taught = taught(
            self.teacher, self.asked, self.texts, given.cache, self.random, say)
        self.taught_bags = vstack([self.asked_bags[asked_at], self.tool_bags[tools_at]]).tocsr()


def table_of(material, given):
    random = np.random.default_rng(given.seed)
    table, centre, axes = static.initial(material.piece_vectors, material.tool_bags, given.width)
    targets = unit((material.taught - centre) @ axes)
    table = static.distil(table, material.taught_bags, targets, given, random)
    say("distilled")
    table = static.contrast(table, material.asked_bags, material.tool_bags, material.pairs, given, random)
    say("contrasted")
    return table


if __name__ == "__main__":
    import pack

    given = arguments()
    if given.head_only:
        pack.classifier(given, *pack.unpacked(given.out / "toolvec.bin"), say)
    else:
        material = Material(given)
        pack.everything(given, material.vocabulary, table_of(material, given), say)

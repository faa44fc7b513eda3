"""Makes the model of `crates/search`: one command, one seed.

    OPENBLAS_NUM_THREADS=1 python train.py --data DIR --held-out DIR --out ../../crates/search/data

DIR of `--data` holds the sets named in docs/search.md; DIR of `--held-out` what
`search/eval/held_out.py` made, read only to keep its tools out of the training text. With
`--head-only` the table in `--out` stays as it is and the classifier is made anew for it. A GPU is used
where cupy is installed and finds one: minutes instead of hours.
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
from text import TOLD_SHARE, Pieces, teacher_text, told, tool_text
from texts import kept

HELD_OUT = ("livemcp_task", "mcptoolbenchpp")
# The teacher reads no more of a text.
MOST_TOKENS = 128


def arguments():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--data", type=Path, required=True)
    ask.add_argument("--held-out", type=Path)
    ask.add_argument("--out", type=Path, required=True)
    ask.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "trunkline-search", help="the teacher's answers")
    ask.add_argument("--head-only", action="store_true")
    ask.add_argument("--seed", type=int, default=7)
    ask.add_argument("--orders", type=int, default=4, help="tables trained by other chance, of which the mean is taken")
    ask.add_argument("--size", type=int, default=14_000, help="pieces in the vocabulary")
    ask.add_argument("--width", type=int, default=256)
    ask.add_argument("--epochs", type=int, default=8)
    ask.add_argument("--rate", type=float, default=0.012)
    ask.add_argument("--scale", type=float, default=16.0)
    ask.add_argument("--left-out", type=float, default=0.1, help="share of a text's pieces that are left out")
    ask.add_argument("--swapped", type=float, default=0.05, help="share that near ones stand for")
    ask.add_argument("--guessed", type=int, default=3, help="tools that the teacher finds for each request of a set")
    ask.add_argument("--teacher-share", type=float, default=0.3, help="what the teacher's scores count in the contrast")
    ask.add_argument("--teacher-scale", type=float, default=20.0)
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
        teacher = Teacher(MOST_TOKENS)
        tools = data.servers(given.data, [given.held_out / name for name in HELD_OUT])
        documents, asked = data.pairs(given.data, tools)
        texts = [tool_text(tool) for tool in documents]
        said = sorted({text for text, _ in asked})
        place = {text: at for at, text in enumerate(said)}
        self.pairs = np.array([(place[text], at) for text, at in asked])
        # What somebody asked, not what was made of a tool's own words.
        self.real = self.pairs[:, 1] >= len(tools)
        known = set(said)
        spans = [span for span in data.spans(documents) if span not in known]
        say(f"{len(documents)} tools, {len(said)} requests, {len(self.pairs)} pairs, {len(spans)} spans")
        self.vocabulary = static.choose_vocabulary(texts + said, teacher, given.size)
        say(f"{len(self.vocabulary)} pieces")
        pieces = Pieces(self.vocabulary)
        self.tools = static.bag(pieces, texts) + TOLD_SHARE * static.bag(pieces, [told(tool) for tool in documents])
        self.asked, self.spans = static.bag(pieces, said), static.bag(pieces, spans)

        def taught(texts):
            return kept(teacher, [teacher_text(text) for text in texts], given.cache, say)

        self.pieces_taught = taught([piece.removeprefix("##") for piece in self.vocabulary])
        self.near_pieces = static.near_pieces(self.pieces_taught)
        self.tools_taught, self.asked_taught, self.spans_taught = taught(texts), taught(said), taught(spans)


def table_of(material, given):
    """All start in the same place, so their mean is a table, too, and less of an accident than each."""
    return sum(one_table(material, given, given.seed + order) for order in range(given.orders)) / given.orders


def one_table(material, given, seed):
    random = np.random.default_rng(seed)
    table, centre, axes = static.initial(material.pieces_taught, material.tools, given.width)
    bags = vstack([material.tools, material.asked, material.spans]).tocsr()
    vectors = np.vstack([material.tools_taught, material.asked_taught, material.spans_taught])
    table = static.distil(table, bags, unit((vectors - centre) @ axes), given, random)
    varied = static.Varied(material.near_pieces, given, random)
    table = static.contrast(table, static.Pairs(material, given), varied, given, random)
    say(f"trained with seed {seed}")
    return table


if __name__ == "__main__":
    import pack

    given = arguments()
    if given.head_only:
        pack.classifier(given, *pack.unpacked(given.out / "toolvec.bin"), say)
    else:
        material = Material(given)
        pack.everything(given, material.vocabulary, table_of(material, given), say)

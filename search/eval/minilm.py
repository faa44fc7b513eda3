"""Where the teacher itself (all-MiniLM-L6-v2) says that the tools and requests of a set point.

    python minilm.py --data DIR [--data DIR]... --out DIR

For comparing: the measuring program (`cargo xtask eval-search`) puts these vectors in the model's
place, with the same words and the same fusion. Needs `search/train/requirements.txt`.
"""
import argparse
import hashlib
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "train"))

from data import lines  # noqa: E402
from teacher import Teacher  # noqa: E402
from text import teacher_text, tool_text  # noqa: E402
from texts import kept  # noqa: E402

SETS = ("livemcp_task", "livemcp_step", "livemcp_route", "mcptoolbenchpp", "natural_test", "natural_dev",
        "bfcl_live", "bfcl", "sealtools_test_in_domain", "sealtools_test_out_domain")
MOST_TOKENS = 128


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--data", type=Path, action="append", required=True)
    ask.add_argument("--out", type=Path, required=True)
    given = ask.parse_args()
    teacher = Teacher(MOST_TOKENS)
    for name in SETS:
        folder = next((folder / name for folder in given.data if (folder / name).is_dir()), None)
        if folder is None:
            continue
        tools = [teacher_text(tool_text(tool)) for tool in lines(folder / "corpus.jsonl")]
        asked = [teacher_text(query["text"]) for query in lines(folder / "queries.jsonl")]
        for texts, what in ((tools, "tools"), (asked, "requests")):
            put(teacher, texts, given.out, f"{name}.{what}.vectors")


def put(teacher, texts, out, name):
    mark = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    known = out / f"{name}.mark"
    if known.exists() and known.read_text() == mark and (out / name).exists():
        return
    found = kept(teacher, texts, out / "answers", print)
    (out / name).write_bytes(struct.pack("<II", *found.shape) + found.astype("<f4").tobytes())
    known.write_text(mark)
    print(f"{name}: {len(texts)} texts", flush=True)


if __name__ == "__main__":
    main()

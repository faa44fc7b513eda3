"""What the teacher is asked: a share of the tools and of the requests; its answers are kept."""
import hashlib
from pathlib import Path

import numpy as np

# Enough to turn the table; more brings little and takes hours on a small machine.
MOST_REQUESTS = 3_000
MOST_TOOLS = 3_000


def taught(teacher, asked, tools, cache, random, say):
    """Which requests and tools the teacher was asked about, and its vectors for both together."""
    asked_at = np.sort(random.permutation(len(asked))[:MOST_REQUESTS])
    tools_at = np.sort(random.permutation(len(tools))[:MOST_TOOLS])
    texts = [asked[at] for at in asked_at] + [tools[at] for at in tools_at]
    return asked_at, tools_at, kept(teacher, texts, cache, say)


def kept(teacher, texts, cache, say, together=1000):
    """The teacher is the slow part and does not change: its answers are kept by what was asked."""
    Path(cache).mkdir(parents=True, exist_ok=True)
    found = []
    for start in range(0, len(texts), together):
        some = texts[start : start + together]
        mark = hashlib.sha256("\0".join([str(teacher.most_tokens), *some]).encode()).hexdigest()[:16]
        file = Path(cache) / f"teacher-{mark}.npy"
        if not file.exists():
            np.save(file, teacher.encode(some))
            say(f"teacher: {start + len(some)} of {len(texts)} texts")
        found.append(np.load(file))
    return np.vstack(found)

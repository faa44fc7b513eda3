"""What the teacher said of texts, kept: it is the slow part and does not change."""
import hashlib
from pathlib import Path

import numpy as np


def kept(teacher, texts, cache, say, together=5000):
    """The teacher's vectors; its answers are kept by what was asked."""
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

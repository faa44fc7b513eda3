"""How good a table is on the development sets, alone and with words: for choosing, not for reporting."""
from pathlib import Path

import numpy as np
import snowballstemmer
from scipy.sparse import csr_matrix

from data import requests
from static import bag, vectors
from text import ALIASES, TOLD_SHARE, told, tool_text, words

FIELDS = (("name", 2.0), ("description", 1.0), ("server", 1.0), ("names", 0.5), ("told", 0.3), ("server_desc", 0.3))
STOP = set("a an and are as at be by for from has have i in is it its me my of on or so that the their them this to was we were will with you your can could would please want need do does how what which".split())
STEM = snowballstemmer.stemmer("english")


class Set:
    def __init__(self, folder, name, most=500):
        corpus, queries, relevant = requests(folder, name)
        self.name, self.tools = name, list(corpus.values())
        place = {tool["id"]: at for at, tool in enumerate(self.tools)}
        gold = {}
        for qid, did in relevant:
            gold.setdefault(qid, set()).add(place[did])
        keep = [qid for qid in queries if qid in gold][:most]
        self.gold, self.asked = [gold[qid] for qid in keep], [queries[qid] for qid in keep]
        self.lexical = lexical(self.tools, self.asked)
        self.bags = {}

    def score(self, table, pieces, share=0.5):
        if not self.bags:
            self.bags["q"] = bag(pieces, self.asked)
            self.bags["d"] = bag(pieces, [tool_text(tool) for tool in self.tools])
            self.bags["d"] += TOLD_SHARE * bag(pieces, [told(tool) for tool in self.tools])
        near = np.maximum(0, vectors(table, self.bags["q"]) @ vectors(table, self.bags["d"]).T)
        return [quality(self.gold, near), quality(self.gold, share * self.lexical + (1 - share) * near)]


def quality(gold, scores):
    ndcg, recall = [], []
    for wanted, row in zip(gold, scores):
        top = np.argsort(-row, kind="stable")[:10]
        gain = sum(1 / np.log2(at + 2) for at, did in enumerate(top) if did in wanted)
        ndcg.append(gain / sum(1 / np.log2(at + 2) for at in range(min(10, len(wanted)))))
        recall.append(len(wanted.intersection(top[:5].tolist())) / len(wanted))
    return 100 * np.mean(ndcg), 100 * np.mean(recall)


def stems(text):
    found = []
    for parts in words(text):
        said = parts if len(parts) == 1 else [*parts, "".join(parts)]
        for part in said:
            for word in {part, *ALIASES.get(part, part).split()}:
                if word not in STOP:
                    found.append(STEM.stemWord(word))
    return found


def lexical(tools, asked, gain=1.5, k1=1.2, b=0.75):
    ids, rows, columns, values = {}, [], [], []
    for at, tool in enumerate(tools):
        tool = {**tool, "names": " ".join(n for n, _ in tool["params"]), "told": " ".join(d for _, d in tool["params"])}
        for field, weight in FIELDS:
            for stem in stems(tool[field] or ""):
                rows.append(at), columns.append(ids.setdefault(stem, len(ids))), values.append(weight)
    counts = csr_matrix((values, (rows, columns)), shape=(len(tools), len(ids)))
    length = np.asarray(counts.sum(1)).ravel()
    length = 1 - b + b * length / length.mean()
    spread = np.repeat(length, np.diff(counts.indptr))
    seen = np.bincount(counts.indices, minlength=len(ids))
    idf = np.log(1 + (len(tools) - seen + 0.5) / (seen + 0.5))
    counts.data = counts.data * (k1 + 1) / (counts.data + k1 * spread)
    rows, columns, values = [], [], []
    for at, text in enumerate(asked):
        said = {}
        for stem in stems(text):
            if stem in ids:
                said[stem] = min(2, said.get(stem, 0) + 1)
        for stem, times in said.items():
            rows.append(at), columns.append(ids[stem]), values.append(times * idf[ids[stem]])
    query = csr_matrix((values, (rows, columns)), shape=(len(asked), len(ids)))
    best = np.maximum(np.asarray(query.sum(1)).ravel() * (k1 + 1), 1e-9)
    found = (query @ counts.T).toarray() / best[:, None]
    return np.minimum(1, gain * found) if gain else found

"""The static embedding: one vector a piece, a text is the unit sum of its pieces' vectors.

Three steps: the teacher's vector of each piece, weighted by how rare it is; then the pieces learn to
say of whole texts what the teacher says; then to bring requests and tools together.
"""
from collections import Counter

import numpy as np
from scipy.sparse import csr_matrix

from teacher import unit
from text import Pieces, words

RARITY = 1e-3


def choose_vocabulary(texts, teacher, size):
    """The words of the field, then the teacher's pieces as far as there is room."""
    seen = Counter()
    for text in texts:
        seen.update({part for parts in words(text) for part in {*parts, "".join(parts)}})
    known = set(teacher.vocabulary)
    field = [word for word, count in seen.items() if count >= 12 and len(word) > 1 and word not in known
             and word.isascii() and not word.isdigit()]
    field = sorted(field, key=lambda word: (-seen[word], word))[: size // 4]
    spelling = [piece for piece in teacher.vocabulary if len(piece.removeprefix("##")) == 1 and wanted(piece)
                and (piece.isascii() or seen[piece] > 0)]
    whole = [piece for piece in teacher.vocabulary if wanted(piece) and len(piece.removeprefix("##")) > 1]
    used = Counter()
    trial = Pieces([*spelling, *field, *whole])
    names = [*spelling, *field, *whole]
    for text in texts:
        used.update({names[at] for at in trial.of_text(text)})
    rank = {piece: at for at, piece in enumerate(whole)}
    whole = sorted(whole, key=lambda piece: (used[piece] < 2, rank[piece]))
    room = size - len(spelling) - len(field)
    return sorted([*spelling, *field, *whole[:room]])


def wanted(piece):
    plain = piece.removeprefix("##")
    return bool(words(plain)) and "".join(p for ps in words(plain) for p in ps) == plain


def bag(pieces, texts):
    """A sparse row of counts for each text."""
    rows, columns = [], []
    for at, text in enumerate(texts):
        ids = pieces.of_text(text)
        rows.extend([at] * len(ids))
        columns.extend(ids)
    shape = (len(texts), len(pieces.ids))
    return csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)


def initial(vectors, bags, width):
    centre = vectors.mean(0)
    _, _, axes = np.linalg.svd(vectors - centre, full_matrices=False)
    axes = axes[:width].T.astype(np.float32)
    share = np.asarray(bags.sum(0)).ravel()
    share = share / share.sum()
    weight = RARITY / (RARITY + share)
    return ((vectors - centre) @ axes * weight[:, None]).astype(np.float32), centre, axes


class Learner:
    """Row-wise Adagrad: rare pieces keep taking large steps."""

    def __init__(self, table, rate):
        self.table, self.rate = table, rate
        self.seen = np.full(len(table), 1e-8, np.float32)

    def embed(self, rows):
        sums = rows @ self.table
        length = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
        return sums / length, length

    def step(self, parts, rate):
        """parts: (rows, unit vectors, lengths, gradient of the unit vectors)"""
        gradient = 0
        for rows, vectors, length, slope in parts:
            slope = (slope - vectors * (slope * vectors).sum(1, keepdims=True)) / length
            gradient = gradient + rows.T @ slope
        touched = np.flatnonzero(np.abs(gradient).sum(1))
        gradient = gradient[touched]
        self.seen[touched] += (gradient**2).mean(1)
        self.table[touched] -= self.rate * rate * gradient / np.sqrt(self.seen[touched])[:, None]


def distil(table, bags, targets, options, random, batch=512):
    """Whole texts point where the teacher points."""
    learner, epochs = Learner(table, options.distil_rate), options.distil_epochs
    full = np.flatnonzero(np.diff(bags.indptr) > 0)
    total = epochs * max(1, len(full) // batch)
    for step, chosen in enumerate(batches(full, epochs, batch, random)):
        rows = bags[chosen]
        vectors, length = learner.embed(rows)
        learner.step([(rows, vectors, length, -targets[chosen] / len(chosen))], 1 - step / total)
    return learner.table


def contrast(table, asked, tools, pairs, options, random, batch=512):
    """A request is nearer to its tool than to the others of the batch, and the other way round."""
    learner = Learner(table, options.rate)
    total = options.epochs * max(1, len(pairs) // batch)
    for step, chosen in enumerate(batches(np.arange(len(pairs)), options.epochs, batch, random)):
        who, what = pairs[chosen, 0], pairs[chosen, 1]
        left, right = asked[who], tools[what]
        ask, ask_length = learner.embed(left)
        tool, tool_length = learner.embed(right)
        own = what[:, None] == what[None, :]
        slope = np.zeros((len(chosen), len(chosen)), np.float32)
        target = own / own.sum(1, keepdims=True)
        scores = options.scale * (ask @ tool.T)
        for turn in (lambda matrix: matrix, np.transpose):
            slope += turn(softmax(turn(scores)) - target) * options.scale / (2 * len(chosen))
        learner.step([(left, ask, ask_length, slope @ tool), (right, tool, tool_length, slope.T @ ask)],
                     1 - step / total)
    return learner.table


def batches(indices, epochs, batch, random):
    for _ in range(epochs):
        order = random.permutation(indices)
        for start in range(0, len(order) - batch + 1, batch):
            yield order[start : start + batch]


def softmax(scores):
    raised = np.exp(scores - scores.max(1, keepdims=True))
    return raised / raised.sum(1, keepdims=True)


def quantise(table):
    """One scale for all: it falls out when a text's sum is brought to unit length."""
    # Few values reach far out; cutting them leaves finer steps for the rest.
    reach = np.quantile(np.abs(table), 0.9999)
    return np.clip(np.rint(table / reach * 127), -127, 127).astype(np.int8)


def vectors(table, bags):
    return unit(bags @ table.astype(np.float32))

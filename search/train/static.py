"""The static embedding: one vector a piece, a text is the unit sum of its pieces' vectors.

Three steps: the teacher's vector of each piece, weighted by how rare it is; then the pieces learn to
say of whole texts what the teacher says; then to bring requests and tools together, as the sets and the
teacher say.
"""
from collections import Counter

import numpy as np
from scipy.sparse import csr_matrix

from arrays import ON_GPU, plain, rows_of, xp
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
        self.table, self.rate = xp.asarray(table), rate
        self.seen = xp.full((len(table), 1), 1e-8, np.float32)

    def embed(self, rows):
        sums = rows @ self.table
        length = xp.sqrt((sums**2).sum(1, keepdims=True)).clip(1e-6)
        return sums / length, length

    def step(self, parts, rate):
        """parts: (rows, unit vectors, lengths, gradient of the unit vectors)"""
        gradient = 0
        for rows, vectors, length, slope in parts:
            slope = (slope - vectors * (slope * vectors).sum(1, keepdims=True)) / length
            gradient = gradient + rows.T @ slope
        self.seen += (gradient**2).mean(1, keepdims=True)
        self.table -= np.float32(self.rate * rate) * gradient / xp.sqrt(self.seen)


class Varied:
    """Texts said a little otherwise each time: pieces left out, or near ones in their place."""

    def __init__(self, near, options, random):
        self.near, self.options, self.random = near, options, random

    def __call__(self, bags, chosen):
        rows = bags[chosen]
        chance = self.random.random(rows.nnz, np.float32)
        other = self.near[rows.indices, self.random.integers(self.near.shape[1], size=rows.nnz)]
        swapped = chance > 1 - self.options.swapped
        columns = np.where(swapped, other, rows.indices)
        counts = rows.data * (chance >= self.options.left_out)
        return rows_of(csr_matrix((counts.astype(np.float32), columns, rows.indptr), shape=rows.shape))


def distil(table, bags, targets, options, random, batch=512):
    """Whole texts point where the teacher points."""
    learner, epochs = Learner(table, options.distil_rate), options.distil_epochs
    targets = xp.asarray(targets)
    full = np.flatnonzero(np.diff(bags.indptr) > 0)
    total = epochs * max(1, len(full) // batch)
    for step, chosen in enumerate(batches(full, epochs, batch, random)):
        rows = rows_of(bags[chosen])
        vectors, length = learner.embed(rows)
        learner.step([(rows, vectors, length, -targets[xp.asarray(chosen)] / len(chosen))], 1 - step / total)
    return plain(learner.table)


class Pairs:
    """Requests, tools, which belong together, and what the teacher says of both."""

    def __init__(self, material, options):
        self.asked, self.tools, self.options = material.asked, material.tools, options
        self.asked_taught, self.tools_taught = xp.asarray(material.asked_taught), xp.asarray(material.tools_taught)
        pairs, who = material.pairs, np.unique(material.pairs[material.real, 0])
        best = nearest(self.asked_taught[xp.asarray(who)], self.tools_taught, options.guessed)
        guessed = np.stack([np.repeat(who, options.guessed), best.ravel()], 1)
        self.pairs = np.vstack([pairs, guessed])
        # How much what the set says counts against what the teacher says; of a guess it is nothing.
        self.trust = np.repeat([1 - options.teacher_share, 0], [len(pairs), len(guessed)]).astype(np.float32)

    def targets(self, chosen, who, what):
        """What the scores of some requests (rows) and tools (columns) should be, each way."""
        own = xp.asarray(what[:, None] == what[None, :]).astype(np.float32)
        own /= own.sum(1, keepdims=True)
        taught = self.asked_taught[xp.asarray(who)] @ self.tools_taught[xp.asarray(what)].T
        trust, alike = xp.asarray(self.trust[chosen])[:, None], self.options.teacher_scale * taught
        return (trust * own + (1 - trust) * softmax(alike), (trust * own + (1 - trust) * softmax(alike.T)).T)


def contrast(table, pairs, varied, options, random, batch=512):
    """A request is nearer to its tool than to the others of the batch, and the other way round."""
    learner = Learner(table, options.rate)
    total = options.epochs * max(1, len(pairs.pairs) // batch)
    for step, chosen in enumerate(batches(np.arange(len(pairs.pairs)), options.epochs, batch, random)):
        who, what = pairs.pairs[chosen].T
        left, right = varied(pairs.asked, who), varied(pairs.tools, what)
        ask, ask_length = learner.embed(left)
        tool, tool_length = learner.embed(right)
        scores = options.scale * (ask @ tool.T)
        by_row, by_column = pairs.targets(chosen, who, what)
        slope = softmax(scores) - by_row + softmax(scores.T).T - by_column
        slope *= options.scale / (2 * len(chosen))
        learner.step([(left, ask, ask_length, slope @ tool), (right, tool, tool_length, slope.T @ ask)],
                     1 - step / total)
    return plain(learner.table)


def nearest(rows, others, most, most_alike=2.0):
    """The places of the nearest of `others`, but for those that are as good as the same."""
    found = np.zeros((len(rows), most), np.int64)
    for start in range(0, len(rows), 1000):
        alike = rows[start : start + 1000] @ others.T
        alike[alike > most_alike] = -1
        found[start : start + 1000] = plain(xp.argsort(-alike, axis=1)[:, :most])
    return found


def near_pieces(vectors, most=4, least=0.5):
    """For each piece some that mean about the same to the teacher; itself where there is none."""
    vectors = xp.asarray(vectors)
    found = nearest(vectors, vectors, most, most_alike=0.9999)
    for at, best in enumerate(found):
        far = plain(vectors[xp.asarray(best)] @ vectors[at]) < least
        best[far] = at
    return found


def batches(indices, epochs, batch, random):
    for _ in range(epochs):
        order = random.permutation(indices)
        for start in range(0, len(order) - batch + 1, batch):
            yield order[start : start + batch]


def softmax(scores):
    module = xp if ON_GPU and isinstance(scores, xp.ndarray) else np
    raised = module.exp(scores - scores.max(1, keepdims=True))
    return raised / raised.sum(1, keepdims=True)


def quantise(table):
    """One scale for all: it falls out when a text's sum is brought to unit length."""
    # Few values reach far out; cutting them leaves finer steps for the rest.
    reach = np.quantile(np.abs(table), 0.9999)
    return np.clip(np.rint(table / reach * 127), -127, 127).astype(np.int8)


def vectors(table, bags):
    return unit(bags @ table.astype(np.float32))

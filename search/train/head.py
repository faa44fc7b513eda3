"""The classifier: a linear head on the embedding and on words, and how sure it may be."""
import json

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from data import fnv, lines
from static import bag, softmax, vectors
from text import server_text, tool_text, words

# A quarter of the servers is for measuring (`cargo xtask eval-search`), a sixth of the rest for saying
# how sure the head may be; by a hash of the server, so that no server is on two sides.
SPLIT = 24
TEST = 6
CALIBRATE = 9
TAXONOMY = "taxonomy"
TAXONOMY_COUNTS = 8
# Words are counted by a hash of theirs: those of servers and those of tools apart.
BUCKETS = 8192
SERVER, TOOL = "s", "t"


class Options:
    """Chosen by `folds` (docs/search.md)."""

    strength = 1e-4
    # How much the embedding and the words count before anything is learnt.
    dense, sparse = 2.0, 1.0
    # What a server's other labels get of its first one.
    others = 0.0
    # What a server of the list made by people counts against one of the crawl.
    listed = 1.0
    # How much a tool's own text counts against those of its server's tools together.
    own = 0.3


class Material:
    """The labelled rows and what is seen of them."""

    def __init__(self, folder, pieces, table):
        self.taxonomy = json.loads((folder / "classify" / "taxonomy.json").read_text(encoding="utf-8"))
        self.skills = list(self.taxonomy)
        place = {skill: at for at, skill in enumerate(self.skills)}
        self.tools = lines(folder / "classify" / "toucan_tools.jsonl")
        listed = [as_tool(row) for row in lines(folder / "classify" / "awesome_servers.jsonl")]
        rows = self.rows = self.tools + listed + [as_tool(row) for row in self.taught()]
        self.dense = np.hstack([vectors(table, bag(pieces, [text(row) for row in rows]))
                                for text in (server_text, own_text)])
        self.sparse = counted(rows)
        self.labels = np.array([place[row["skill"]] for row in rows])
        self.good = np.zeros((len(rows), len(self.skills)), bool)
        for at, row in enumerate(rows):
            for skill in [row["skill"], *row["secondary"]]:
                if skill in place:
                    self.good[at, place[skill]] = True
        self.kinds = np.array([0] * len(self.tools) + [1] * len(listed) + [2] * (len(rows) - len(self.tools) - len(listed)))
        self.sides = np.array([SPLIT if row["server_id"] == TAXONOMY else fnv(row["server_id"]) % SPLIT for row in rows])
        self.many = {}
        for row in rows:
            self.many[row["server_id"]] = self.many.get(row["server_id"], 0) + 1

    def taught(self):
        """Each skill in its own words: some have hardly a server in the data (code_management: 23)."""
        for skill, told in self.taxonomy.items():
            for text in (told["title"], told["keywords"]):
                yield {"id": TAXONOMY, "name": text, "description": "", "skill": skill}

    def counts(self, options):
        """A server with many tools counts no more than three times one with one."""
        each = np.array([min(3, self.many[row["server_id"]]) / self.many[row["server_id"]] for row in self.rows])
        return np.choose(self.kinds, [each, each * options.listed, TAXONOMY_COUNTS])

    def wanted(self, options):
        wanted = self.good * options.others
        wanted[np.arange(len(self.rows)), self.labels] = 1
        return wanted / wanted.sum(1, keepdims=True)


class Head:
    def __init__(self, material, options=Options):
        self.taxonomy, self.skills = material.taxonomy, material.skills
        self.weights = learnt(material, options, material.sides >= CALIBRATE)
        count = len(material.tools)
        shares = softmax(pooled(said(material, self.weights)[:count], material.tools, options.own))
        self.judge(shares, material.labels[:count], material.good[:count], material.sides[:count])

    def judge(self, shares, labels, good, sides):
        order = np.argsort(-shares, axis=1, kind="stable")
        top = np.take_along_axis(shares, order, 1)
        right = np.take_along_axis(good, order, 1)
        calibrate = (sides >= TEST) & (sides < CALIBRATE)
        self.first = rising(top[calibrate, 0], right[calibrate, 0])
        self.further = rising(top[calibrate, 1:3].ravel(), right[calibrate, 1:3].ravel())
        test = sides < TEST
        sure = np.interp(top[test, 0], *zip(*self.first)) >= 0.5
        self.report = {
            **accuracy(shares[test], labels[test]),
            "acceptable": float(right[test, 0].mean()),
            "sure": float(sure.mean()),
            "precision": float(right[test, 0][sure].mean()),
        }


def folds(material, options, many=5):
    """How good a head with these options is on servers it has not seen, none of them of the test side."""
    found = np.zeros((len(material.tools), len(material.skills)))
    sides = material.sides[: len(material.tools)]
    for fold in range(many):
        learn = (material.sides >= TEST) & (material.sides % many != fold) | (material.kinds == 2)
        logits = said(material, learnt(material, options, learn))[: len(material.tools)]
        asked = (sides >= TEST) & (sides % many == fold)
        found[asked] = pooled(logits, material.tools, options.own)[asked]
    asked = sides >= TEST
    return accuracy(found[asked], material.labels[: len(material.tools)][asked])


def accuracy(shares, labels):
    order = np.argsort(-shares, axis=1, kind="stable")
    return {"acc@1": float((order[:, 0] == labels).mean()), "acc@3": float((order[:, :3] == labels[:, None]).any(1).mean())}


def as_tool(row):
    return {"server": row["name"], "server_desc": row["description"], "name": "", "description": "",
            "params": [], "skill": row["skill"], "secondary": [], "server_id": row["id"]}


def own_text(row):
    """A server that is listed without its tools speaks for them."""
    return tool_text(row) if row["name"] else server_text(row)


def counted(rows):
    """Which words a row has, by bucket; each of the two texts has the same weight, however long it is."""
    known, places, columns, values = {}, [], [], []
    for at, row in enumerate(rows):
        for kind, text in ((SERVER, server_text(row)), (TOOL, own_text(row) if row["name"] else "")):
            found = sorted({bucket(kind, part, known) for parts in words(text) for part in parts})
            places += [at] * len(found)
            columns += found
            values += [1 / np.sqrt(max(1, len(found)))] * len(found)
    return csr_matrix((np.array(values, np.float32), (places, columns)), shape=(len(rows), BUCKETS))


def bucket(kind, part, known):
    key = kind + part
    if key not in known:
        known[key] = fnv(key) % BUCKETS
    return known[key]


def pooled(logits, tools, own):
    """Some of a tool's own word, and of that of all its server's tools."""
    by_server = {}
    for at, tool in enumerate(tools):
        by_server.setdefault(tool["server_id"], []).append(at)
    mixed = logits.copy()
    for places in by_server.values():
        mixed[places] = own * logits[places] + (1 - own) * logits[places].mean(0)
    return mixed


def said(material, weights):
    dense, sparse, bias = weights
    return material.dense @ dense + material.sparse @ sparse + bias


def learnt(material, options, learn):
    """Rare words say more when they are there: they are learnt larger, which the weights then hold."""
    seen = np.asarray((material.sparse[learn] > 0).sum(0)).ravel()
    rarity = np.log((1 + learn.sum()) / (1 + seen)) * options.sparse
    sparse = material.sparse[learn].multiply(rarity[None, :]).tocsr()
    dense, words, bias = fit(material.dense[learn] * options.dense, sparse, material.wanted(options)[learn],
                             material.counts(options)[learn], options.strength)
    return dense * options.dense, words * rarity[:, None], bias


def fit(dense, sparse, wanted, counts, strength):
    """Multinomial logistic regression on both kinds of features."""
    dense = dense.astype(np.float32)
    sparse, turned = sparse.astype(np.float32), sparse.T.tocsr().astype(np.float32)
    width, buckets, classes = dense.shape[1], sparse.shape[1], wanted.shape[1]
    wanted, counts = wanted.astype(np.float32), (counts / counts.sum()).astype(np.float32)

    def parts(flat):
        weights = flat.reshape(width + buckets + 1, classes)
        return weights[:width], weights[width:-1], weights[-1]

    def loss(flat):
        narrow = flat.astype(np.float32)
        left, right, bias = parts(narrow)
        shares = softmax(dense @ left + sparse @ right + bias)
        value = -(counts[:, None] * wanted * np.log(np.maximum(shares, 1e-12))).sum(dtype=np.float64)
        slope = (shares - wanted) * counts[:, None]
        slope = np.vstack([dense.T @ slope, turned @ slope, slope.sum(0)]).astype(np.float64).ravel()
        return float(value) + strength * float(flat @ flat), slope + 2 * strength * flat

    start = np.zeros((width + buckets + 1) * classes)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 70})
    return [part.astype(np.float32) for part in parts(found.x)]


def rising(said, right, most=24):
    """Pool adjacent violators, then a few points of it: how often it is right when it says so."""
    order = np.argsort(said, kind="stable")
    blocks = []
    for x, y in zip(said[order], right[order].astype(float)):
        blocks.append([y, 1, x])
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            y, n, x = blocks.pop()
            blocks[-1] = [(blocks[-1][0] * blocks[-1][1] + y * n) / (blocks[-1][1] + n), blocks[-1][1] + n,
                          (blocks[-1][2] * blocks[-1][1] + x * n) / (blocks[-1][1] + n)]
    # Blocks of a few tools would promise certainty on their word.
    blocks = [block for block in blocks if block[1] >= 10] or blocks
    keep = np.unique(np.linspace(0, len(blocks) - 1, most).round().astype(int))
    return [(float(blocks[at][2]), float(blocks[at][0])) for at in keep]

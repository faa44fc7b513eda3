"""The classifier: a linear head on the embedding, and how sure it may be."""
import json

import numpy as np
from scipy.optimize import minimize

from data import lines
from static import bag, softmax, vectors
from text import skill_text

# A quarter of the servers is for measuring (`cargo xtask search`), a sixth of the rest for saying
# how sure the head may be; by a hash of the server, so that no server is on two sides.
SPLIT = 24
TEST = 6
CALIBRATE = 9
TAXONOMY = "taxonomy"
TAXONOMY_COUNTS = 8


class Head:
    def __init__(self, folder, pieces, table, strength=1e-4):
        self.taxonomy = json.loads((folder / "classify" / "taxonomy.json").read_text(encoding="utf-8"))
        self.skills = list(self.taxonomy)
        place = {skill: at for at, skill in enumerate(self.skills)}
        tools = lines(folder / "classify" / "toucan_tools.jsonl")
        listed = [as_tool(row) for row in lines(folder / "classify" / "awesome_servers.jsonl")]
        rows = tools + listed + [as_tool(row) for row in self.taught()]
        features = vectors(table, bag(pieces, [skill_text(row) for row in rows]))
        labels = np.array([place[row["skill"]] for row in rows])
        sides = np.array([SPLIT if row["server_id"] == TAXONOMY else side(row["server_id"]) for row in rows])
        # A server with many tools counts no more than three times one with one.
        many = {}
        for row in rows:
            many[row["server_id"]] = many.get(row["server_id"], 0) + 1
        counts = np.array([TAXONOMY_COUNTS if row["server_id"] == TAXONOMY
                           else min(3, many[row["server_id"]]) / many[row["server_id"]] for row in rows])
        learn = sides >= CALIBRATE
        self.weights = fit(features[learn], labels[learn], counts[learn], len(self.skills), strength)
        logits = features @ self.weights[:-1] + self.weights[-1]
        logits = pooled(logits[: len(tools)], tools)
        good = np.zeros((len(tools), len(self.skills)), bool)
        for at, row in enumerate(tools):
            for skill in [row["skill"], *row["secondary"]]:
                if skill in place:
                    good[at, place[skill]] = True
        self.judge(softmax(logits), labels[: len(tools)], good, sides[: len(tools)])

    def taught(self):
        """Each skill in its own words: some have hardly a server in the data (code_management: 23)."""
        for skill, told in self.taxonomy.items():
            for text in (told["title"], told["keywords"]):
                yield {"id": TAXONOMY, "name": text, "description": "", "skill": skill}

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
            "acc@1": float((order[test, 0] == labels[test]).mean()),
            "acc@3": float((order[test, :3] == labels[test, None]).any(1).mean()),
            "acceptable": float(right[test, 0].mean()),
            "sure": float(sure.mean()),
            "precision": float(right[test, 0][sure].mean()),
        }


def as_tool(row):
    return {"server": row["name"], "server_desc": row["description"], "name": "", "description": "",
            "params": [], "skill": row["skill"], "secondary": [], "server_id": row["id"]}


def side(server):
    """FNV-1a: the measuring side has the same few lines."""
    hashed = 0x811C9DC5
    for byte in server.encode():
        hashed = ((hashed ^ byte) * 0x01000193) & 0xFFFFFFFF
    return hashed % SPLIT


def pooled(logits, tools):
    """Half a tool's own word, half that of all its server's tools."""
    by_server = {}
    for at, tool in enumerate(tools):
        by_server.setdefault(tool["server_id"], []).append(at)
    mixed = logits.copy()
    for places in by_server.values():
        mixed[places] = 0.5 * logits[places] + 0.5 * logits[places].mean(0)
    return mixed


def fit(features, labels, counts, classes, strength):
    """Multinomial logistic regression."""
    features = np.hstack([features, np.ones((len(features), 1), np.float32)]).astype(np.float64)
    wanted = np.eye(classes)[labels]
    counts = counts / counts.sum()

    def loss(flat):
        weights = flat.reshape(features.shape[1], classes)
        shares = softmax(features @ weights)
        value = -(counts * np.log(np.maximum(shares[np.arange(len(labels)), labels], 1e-12))).sum()
        slope = features.T @ ((shares - wanted) * counts[:, None]) + 2 * strength * weights
        return value + strength * (flat**2).sum(), slope.ravel()

    start = np.zeros(features.shape[1] * classes)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 150})
    return found.x.reshape(features.shape[1], classes).astype(np.float32)


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

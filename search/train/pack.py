"""The files that the runtime reads: `toolvec.bin`, `skills.bin`, and the fixture that checks it."""
import json
import struct
import numpy as np

from head import BUCKETS, SERVER, TOOL, Head, Material, Options, bucket
from static import bag, quantise, vectors
from text import Pieces, server_text, tool_text, words


def everything(given, vocabulary, table, say):
    table = quantise(table)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "toolvec.bin").write_bytes(toolvec(vocabulary, table))
    classifier(given, vocabulary, table, say)


def classifier(given, vocabulary, table, say):
    """The head for a finished table."""
    pieces = Pieces(vocabulary)
    head = Head(Material(given.data, pieces, table))
    say(f"head: {head.report}")
    (given.out / "skills.bin").write_bytes(skills(head, table.shape[1]))
    (given.out / "fixture.json").write_text(fixture(pieces, table), encoding="utf-8")
    for file in sorted(given.out.iterdir()):
        say(f"{file.name}: {file.stat().st_size} bytes")


def toolvec(vocabulary, table):
    head = b"trunkline toolvec 1\n" + struct.pack("<II", *table.shape)
    return head + b"".join(map(string, vocabulary)) + table.tobytes()


def unpacked(file):
    """The vocabulary and the table of a `toolvec.bin`."""
    data = file.read_bytes()
    at = len(b"trunkline toolvec 1\n")
    count, width = struct.unpack_from("<II", data, at)
    at += 8
    vocabulary = []
    for _ in range(count):
        (length,) = struct.unpack_from("<H", data, at)
        vocabulary.append(data[at + 2 : at + 2 + length].decode())
        at += 2 + length
    return vocabulary, np.frombuffer(data, np.int8, offset=at).reshape(count, width)


def skills(head, width):
    parts = [b"trunkline skills 2\n", struct.pack("<III", len(head.skills), width, BUCKETS)]
    for skill in head.skills:
        told = head.taxonomy[skill]
        parts += [string(skill), string(told["title"]), string(told["keywords"])]
    dense, words, bias = head.weights
    # Few reach far out; a finer step for the rest is worth more.
    step = float(np.quantile(np.abs(words), 0.9999)) / 127
    parts += [dense.T.astype("<f4").tobytes(), struct.pack("<f", step)]
    parts += [np.clip(np.rint(words / step), -127, 127).astype(np.int8).tobytes(), bias.astype("<f4").tobytes()]
    parts += [struct.pack("<f", Options.own)]
    for points in (head.first, head.further):
        parts += [struct.pack("<I", len(points)), np.array(points, "<f4").tobytes()]
    return b"".join(parts)


def string(text):
    encoded = text.encode()
    return struct.pack("<H", len(encoded)) + encoded


# Made for this: what the two sides could see differently.
TEXTS = [
    "create a pull request", "Open a PR on GitHub, please!", "listPRs", "HTTPServer2Go v1.2.3",
    "What's the weather in São Paulo tomorrow?", "搜索网页 and fetch_webpage", "kubectl get pods -n kube-system",
    "Überweisung an İstanbul", "e\u0301te\u0301 naïve façade", "send_slack-message.now", "URLs, IDs and APIs",
    "OAuth2 tokenExchange for PostgreSQL/MySQL dbs", "Привет мир", "한국어 도구", "🦀 ferris", "",
    "x" * 300, "antidisestablishmentarianism qwzxv", "read " * 300, "K8s YAMLs in S3 (us-east-1)",
    "Convert 100 USD → EUR × 2", "ΑΒΓ άλφα", "NAÏVE ÉcoleÉté", "GraphQLAPIs getURLsFromHTML", "tool: \"quoted\"\n\tnew line",
]


def fixture(pieces, table):
    rows = vectors(table, bag(pieces, TEXTS))
    found = [{"text": text, "pieces": pieces.of_text(text), "vector": [round(float(x), 6) for x in row[:8]]}
             for text, row in zip(TEXTS, rows)]
    tool = {"server": "github", "server_desc": "Code hosting", "name": "createIssue", "description": "Create an issue",
            "params": [[f"p{at}", "about it"] for at in range(14)]}
    said = {"tool": tool_text(tool), "server": server_text(tool)}
    seen = {which: sorted({bucket(kind, part, {}) for parts in words(said[which]) for part in parts})
            for which, kind in (("server", SERVER), ("tool", TOOL))}
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in found)
    return f'{{"said": {json.dumps(said)},\n"buckets": {json.dumps(seen)},\n"texts": [\n{lines}\n]}}\n'

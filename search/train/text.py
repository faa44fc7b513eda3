"""Text as the runtime sees it: words, pieces, and the texts a tool is known by.

`crates/search/src/{words,pieces,document}.rs` do the same; the fixture that `fixture.py` writes
holds both sides to it.
"""
import re
import unicodedata

# Longest texts are cut; a description says what the tool does in its first sentences.
MOST_PIECES = 256
MOST_PARAMETERS = 12

# Short forms that tool texts and people use for the same thing. Searching and training know the
# same table (`crates/search/src/alias.rs`); the fixture compares them.
ALIASES = {
    "admin": "administrator", "auth": "authentication", "btc": "bitcoin", "calc": "calculate",
    "cmd": "command", "config": "configuration", "configs": "configuration", "db": "database",
    "dbs": "databases", "desc": "description", "dir": "directory", "dirs": "directories",
    "dm": "direct message", "dms": "direct messages", "doc": "document", "docs": "documents",
    "env": "environment", "eth": "ethereum", "fs": "filesystem", "gh": "github", "img": "image",
    "imgs": "images", "info": "information", "js": "javascript", "k8s": "kubernetes",
    "lang": "language", "loc": "location", "max": "maximum", "min": "minimum", "mr": "merge request",
    "mrs": "merge requests", "msg": "message", "msgs": "messages", "num": "number",
    "params": "parameters", "pic": "picture", "pics": "pictures", "pkg": "package",
    "pr": "pull request", "prs": "pull requests", "proj": "project", "py": "python", "qa": "quality assurance",
    "repo": "repository", "repos": "repositories", "spec": "specification", "specs": "specifications",
    "sync": "synchronize", "tmp": "temporary", "ts": "typescript", "tx": "transaction",
    "txn": "transaction", "txs": "transactions", "vid": "video", "vids": "videos", "vm": "virtual machine",
    "vms": "virtual machines", "yt": "youtube",
}

SINGLE = ((0x2E80, 0x30FF), (0x3400, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))
LETTERS = ((0xC0, 0x24F), (0x370, 0x10FF), (0x1E00, 0x1FFF), (0xAC00, 0xD7AF))


def kind(char):
    """'a' for what words are made of, 's' for a word of its own, '+' for a mark to drop, ' ' else."""
    code = ord(char)
    if code < 0x80:
        return "a" if char.isalnum() else " "
    if 0x300 <= code <= 0x36F:
        return "+"
    if code in (0xD7, 0xF7):
        return " "
    if any(low <= code <= high for low, high in LETTERS):
        return "a"
    return "s" if any(low <= code <= high for low, high in SINGLE) else " "


def fold(char):
    lower = char.lower()
    if ord(char) < 0x80 or ord(char) >= 0x2000:
        return lower
    return "".join(c for c in unicodedata.normalize("NFD", lower) if not 0x300 <= ord(c) <= 0x36F)


def words(text):
    """Each word as its parts, lower case, without accents: `createIssue` is ["create", "issue"]."""
    found, run = [], []
    for char in text:
        what = kind(char)
        if what == "a":
            run.append(char)
        elif what == "s":
            close(found, run)
            found.append([char])
        elif what == " ":
            close(found, run)
    close(found, run)
    return found


def close(found, run):
    if run:
        found.append(["".join(map(fold, part)) for part in humps(run)])
        run.clear()


def humps(run):
    parts, start = [], 0
    for at in range(1, len(run)):
        if breaks(run, at):
            parts.append(run[start:at])
            start = at
    parts.append(run[start:])
    return parts


def breaks(run, at):
    before, here = run[at - 1], run[at]
    if not here.isupper():
        return False
    if not before.isupper():
        return True
    rest = run[at + 1 :]
    # URLs, IDs and PRs are one word each.
    plural = len(rest) == 1 and rest[0] == "s"
    return bool(rest) and rest[0].islower() and not plural


class Pieces:
    """WordPiece, greedy and longest first; `##` marks a piece inside a word."""

    def __init__(self, vocabulary):
        self.ids = {piece: at for at, piece in enumerate(vocabulary)}
        self.longest = max(map(len, vocabulary))
        self.known = {}

    def of_text(self, text):
        ids = []
        for parts in words(text):
            ids.extend(self.of_word(parts))
            if len(ids) >= MOST_PIECES:
                return ids[:MOST_PIECES]
        return ids

    def of_word(self, parts):
        key = tuple(parts)
        if key not in self.known:
            self.known[key] = self.look(parts)
        return self.known[key]

    def look(self, parts):
        whole = "".join(parts)
        if len(parts) > 1 and whole in self.ids:
            return [self.ids[whole]]
        ids = []
        for part in parts:
            for word in ALIASES.get(part, part).split():
                ids.extend(self.split(word))
        return ids

    def split(self, word):
        ids, start = [], 0
        while start < len(word):
            end = min(len(word), start + self.longest)
            while end > start:
                piece = word[start:end] if start == 0 else "##" + word[start:end]
                if piece in self.ids:
                    break
                end -= 1
            else:
                return []  # a word that cannot be spelt says nothing
            ids.append(self.ids[piece])
            start = end
        return ids


def tool_text(tool):
    """What a tool is embedded as: where it is, what it is called, what it does, what it takes."""
    names = " ".join(name for name, _ in tool["params"][:MOST_PARAMETERS])
    return f"{tool['server']} {tool['name']}: {tool['description']} {names}"


# What a piece of `told` counts against one of `tool_text` when a tool is searched for and when the table
# is trained.
TOLD_SHARE = 0.5


def told(tool):
    """What a tool's parameters are for."""
    return " ".join(text for _, text in tool["params"][:MOST_PARAMETERS])


def server_text(tool):
    """What a tool's server says of itself: more about the tool's field than the tool does."""
    return f"{tool['server']} {tool['server_desc'] or ''}"


def teacher_text(text):
    """A text as the teacher reads it best: it does not know that identifiers have parts."""
    return re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text.replace("_", " "))

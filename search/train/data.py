"""What training reads: sets with an open licence, from a folder that is not part of the project."""
import json
import re
from pathlib import Path

# Requests with the tools they are about; MIT or Apache-2.0 (docs/search.md). Everything else in the
# folder is for measuring.
REQUESTS = ("metatool", "sealtools_dev", "stabletoolbench")

# One server in thirteen of the crawl is what `search/eval/natural.jsonl` asks for, and is not trained on.
NATURAL_OF, NATURAL = 13, 5

# What stands around a tool on the pages that were crawled, and says nothing about it.
FURNITURE = re.compile(r"^Deploy Server\b.*?Try in Playground\s*", re.S)
NO_WORDS = ("description not available", "access and manage servers by signing in.")

# What people say around what they want.
LEADS = ("I want to {}", "can you {}?", "please {}", "how do I {}?", "help me {}", "I need to {}", "{} for me", "is there a way to {}?")


def lines(file):
    with open(file, encoding="utf-8") as opened:
        return [json.loads(line) for line in opened]


def requests(folder, name):
    corpus = {tool["id"]: tool for tool in lines(Path(folder) / name / "corpus.jsonl")}
    queries = {query["id"]: query["text"] for query in lines(Path(folder) / name / "queries.jsonl")}
    relevant = lines(Path(folder) / name / "qrels.jsonl")
    return corpus, queries, [(row["qid"], row["did"]) for row in relevant if row["rel"] > 0]


def servers(folder, held_out):
    """The tools that are trained on: none of those that the held-out sets or the natural ones have."""
    named, told = {}, set()
    for tool in (tool for name in held_out for tool in lines(Path(name) / "corpus.jsonl")):
        named.setdefault(tool["name"].lower(), []).append(tool)
        told.add(said_words(tool))
    # Two or three words are said of many tools.
    told = {words for words in told if len(words) > 3}
    return [tool for tool in crawl(folder) if not is_natural(tool) and said_words(tool) not in told
            and not any(same(tool, other) for other in named.get(tool["name"].lower(), []))]


def same(tool, other, share=0.6):
    """Of two tools with one name: they begin alike, or say about the same words."""
    words, others = said_words(tool), said_words(other)
    return beginning(tool) == beginning(other) or len(words & others) >= share * len(words | others)


def said_words(tool):
    return frozenset(re.findall(r"\w+", tool["description"].lower()))


def natural(folder):
    """The tools that the natural requests are about."""
    return [tool for tool in crawl(folder) if is_natural(tool)]


def crawl(folder):
    """The tools of the crawl, without the furniture of its pages."""
    tools = [plain(tool) for tool in lines(Path(folder) / "toucan_servers" / "corpus.jsonl")]
    return [tool for tool in tools if tool["name"] != "Optional Settings"]


def plain(tool):
    description = FURNITURE.sub("", tool["description"]).strip()
    if description.lower() in NO_WORDS or description == tool["name"]:
        description = ""
    return {**tool, "description": description}


def is_natural(tool):
    return fnv(tool["id"].split("::")[0]) % NATURAL_OF == NATURAL


def fnv(text):
    """FNV-1a: the measuring side and the runtime have the same few lines."""
    hashed = 0x811C9DC5
    for byte in text.encode():
        hashed = ((hashed ^ byte) * 0x01000193) & 0xFFFFFFFF
    return hashed


def beginning(tool):
    return re.sub(r"\W+", " ", tool["description"].lower()).strip()[:40]


def first_sentence(text):
    return re.split(r"(?<=[.!?。])\s|\n", text.strip(), maxsplit=1)[0]


def pairs(folder, tools):
    """(what somebody might ask, the tool's index in `documents`), and the documents."""
    documents, asked = list(tools), []
    for at, tool in enumerate(tools):
        asked.extend((text, at) for text in said_of(tool))
    for name in REQUESTS:
        corpus, queries, relevant = requests(folder, name)
        place = {}
        for did, tool in corpus.items():
            place[did] = len(documents)
            documents.append(tool)
        asked.extend((queries[qid], place[did]) for qid, did in relevant)
    return documents, asked


def said_of(tool):
    """What a tool's own texts would make somebody ask for."""
    description = tool["description"].strip()
    first = first_sentence(description)
    if len(first) > 12:
        yield first
        yield f"{tool['server']} {first}"
        lead = LEADS[fnv(tool["id"]) % len(LEADS)]
        yield lead.format(first[0].lower() + first[1:].rstrip("."))
    if len(description) > len(first) + 30:
        yield description[len(first):].strip()[:300]
    yield f"{tool['server']} {tool['name']}"
    overview = first_sentence(tool["server_desc"] or "")
    if len(overview) > 12:
        yield f"{overview} {tool['name']}"
    told = [text for _, text in tool["params"] if len(text) > 12][:3]
    if told:
        yield f"{tool['name']} " + " ".join(first_sentence(text) for text in told)


def spans(tools, lengths=(3, 5, 8, 12)):
    """Parts of what servers say, as long as requests are: for learning how the teacher sees text."""
    found = {}
    for tool in tools:
        for text in (tool["description"], tool["server_desc"] or "", *(text for _, text in tool["params"])):
            said, start = text.split()[:80], 0
            while len(said) - start > 2:
                end = start + lengths[len(found) % len(lengths)]
                found[" ".join(said[start:end])] = None
                start = end
    return list(found)

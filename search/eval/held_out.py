"""Makes the held-out sets (LiveMCPBench, MCPToolBench++) from checkouts of their public repositories.

    python held_out.py --livemcp CHECKOUT --mcptoolbench CHECKOUT --out DIR

These sets are for measuring only: nothing under search/train reads them, besides the names that
keep their tools out of the training text (see `search/train/data.py`). Neither is committed.
"""
import argparse
import json
import re
from pathlib import Path


def main():
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--livemcp", type=Path, required=True)
    ask.add_argument("--mcptoolbench", type=Path, required=True)
    ask.add_argument("--out", type=Path, required=True)
    given = ask.parse_args()
    livemcp(given.livemcp, given.out)
    mcptoolbench(given.mcptoolbench, given.out)


def livemcp(root, out):
    corpus, by_name, by_place = [], {}, {}
    for server in json.loads((root / "tools/LiveMCPTool/tools.json").read_text()):
        for place in server["tools"].values():
            for tool in place["tools"]:
                document = {
                    "id": f"{place['server_name']}::{tool['name']}",
                    "server": place["server_name"],
                    "server_desc": server.get("description") or "",
                    "name": tool["name"],
                    "description": tool.get("description") or "",
                    "params": parameters(tool.get("inputSchema")),
                }
                if document["id"] in by_place:
                    continue
                by_place[document["id"]] = document
                by_name.setdefault(tool["name"], []).append(document["id"])
                corpus.append(document)

    tasks, steps = [], []
    for note in json.loads((root / "annotated_data/all_annotations.json").read_text()):
        names = numbered(note["Annotator Metadata"]["Tools"])
        gold = sorted({did for name in names for did in by_name.get(name, [])})
        if gold:
            tasks.append((note["task_id"], note["Question"], gold))
        texts = numbered(note["Annotator Metadata"]["Steps"])
        if len(texts) == len(names):
            for at, (text, name) in enumerate(zip(texts, names)):
                if by_name.get(name):
                    steps.append((f"{note['task_id']}#{at}", text, sorted(by_name[name])))
    write(out / "livemcp_task", corpus, tasks)
    write(out / "livemcp_step", corpus, steps)
    write(out / "livemcp_route", corpus, routes(root, by_place))


def routes(root, by_place):
    """What an agent asked for, and the tools among the answers that it then used."""
    gold = {}
    files = [root / "baseline/annotation", root / "baseline/output"]
    files += sorted((root / "evaluator/output").glob("*/"))
    for folder in files:
        for file in sorted(folder.glob("*Qwen3-Embedding-0.6B.json")):
            for run in json.loads(file.read_text()):
                for text, did in used(run.get("messages") or []):
                    if did in by_place:
                        gold.setdefault(text, set()).add(did)
    return [(f"r{at}", text, sorted(dids)) for at, (text, dids) in enumerate(sorted(gold.items()))]


def used(messages):
    shown = {}  # tool -> the last text that brought it up
    calls = {}
    for message in messages:
        for call in message.get("tool_calls") or []:
            function = call["function"]
            try:
                arguments = json.loads(function["arguments"] or "{}")
            except json.JSONDecodeError:
                continue
            if not isinstance(arguments, dict):
                continue
            if function["name"] == "route":
                calls[call["id"]] = arguments.get("query") or ""
            elif function["name"] == "execute-tool":
                did = f"{arguments.get('server_name')}::{arguments.get('tool_name')}"
                if did in shown:
                    yield shown[did], did
        if message.get("role") == "tool" and message.get("tool_call_id") in calls:
            text = plain(calls[message["tool_call_id"]])
            answer = str(message.get("content")).replace("\\n", "\n")
            for server, tool in re.findall(r"server_name: (\S+)\n\s+tool_name: (\S+)", answer):
                shown[f"{server}::{tool}"] = text


def plain(query):
    return re.sub(r"\s+", " ", re.sub(r"</?tool_assistant>", " ", query)).strip()


def numbered(text):
    parts = re.split(r"(?:^|\n)\s*\d+\s*[.、)]\s*", text or "")
    return [part.strip() for part in parts if part.strip()]


def mcptoolbench(root, out):
    corpus, queries, by_name = {}, [], {}
    files = [
        "browser/browser_0724_single_v3.json",
        "file_system/filesystem_0723_single.json",
        "finance/finance_0724_single_v3.json",
        "search/search_0725_single_v2.json",
        "map/map_single_demo.json",
        "pay/pay_single_demo.json",
    ]
    for name in files:
        for at, row in enumerate(rows(root / "data" / name)):
            homes = {t: s for s, tools in (row.get("mcp_tools_dict") or {}).items() for t in tools}
            for tool in row.get("tools") or []:
                by_name.setdefault(tool["name"], tool["name"])
                corpus.setdefault(tool["name"], {
                    "id": tool["name"],
                    "server": homes.get(tool["name"], ""),
                    "server_desc": "",
                    "name": tool["name"],
                    "description": tool.get("description") or "",
                    "params": parameters(tool.get("input_schema") or tool.get("inputSchema")),
                })
            gold = set()
            for label in row.get("function_call_label") or []:
                gold.add(label["name"])
                for like in label.get("similar_tools") or []:
                    gold.add(like["name"] if isinstance(like, dict) else like)
            queries.append((f"{name}#{at}", row["query"], gold))
    known = [(qid, text, sorted(g for g in gold if g in corpus)) for qid, text, gold in queries]
    write(out / "mcptoolbenchpp", list(corpus.values()), [row for row in known if row[2]])


def rows(file):
    """Every whole row; one file of the snapshot ends in the middle of a row."""
    text, at, found = file.read_text(), 1, []
    decoder = json.JSONDecoder()
    while True:
        while text[at : at + 1] in (",", " ", "\n", "\r", "\t"):
            at += 1
        try:
            row, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError:
            return found
        found.append(row)


def parameters(schema):
    named = (schema or {}).get("properties") or {}
    return [[k, (v.get("description") or "") if isinstance(v, dict) else ""] for k, v in named.items()]


def write(folder, corpus, queries):
    folder.mkdir(parents=True, exist_ok=True)
    lines(folder / "corpus.jsonl", corpus)
    lines(folder / "queries.jsonl", [{"id": qid, "text": text} for qid, text, _ in queries])
    lines(folder / "qrels.jsonl", [
        {"qid": qid, "did": did, "rel": 1} for qid, _, gold in queries for did in gold])
    found = sum(len(gold) for _, _, gold in queries)
    print(f"{folder.name}: {len(corpus)} tools, {len(queries)} queries, {found / max(1, len(queries)):.2f} relevant a query")


def lines(file, items):
    file.write_text("".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items))


if __name__ == "__main__":
    main()

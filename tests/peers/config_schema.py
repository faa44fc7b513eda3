"""Judges configs by a JSON Schema, with somebody else's validator.

argv[1]: the schema. Standard input: a JSON array of configs as text, comments and trailing commas
allowed. Standard output: a JSON array with, for each, null or what the validator has to say.
"""

import json
import re
import sys

import jsonschema

STRING = r'"(?:\\.|[^"\\])*"'
COMMENT = re.compile(STRING + r"|//[^\n]*|/\*.*?\*/", re.DOTALL)
COMMA = re.compile(STRING + r"|,(?=\s*[}\]])", re.DOTALL)


def plain(text):
    keep = lambda found: found.group() if found.group().startswith('"') else ""
    return json.loads(COMMA.sub(keep, COMMENT.sub(keep, text)))


with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema)


def verdict(text):
    error = jsonschema.exceptions.best_match(validator.iter_errors(plain(text)))
    return None if error is None else f"{error.json_path}: {error.message}"


print(json.dumps([verdict(text) for text in json.load(sys.stdin)]))

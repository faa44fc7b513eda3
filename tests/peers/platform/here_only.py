"""What Schemathesis sends: servers are addressed on this machine only, where nobody listens."""

import ipaddress
import os
import re

import schemathesis

URL = re.compile(r"(https?://)([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::([0-9]*))?([/?#].*)?", re.I | re.S)
# The port is that of no service in use.
NOBODY = "127.0.0.1:1"
# Of a URL that is as long as one may be.
LONG = 1000

# A tool that there is, so that some of the calls arrive.
TOOL = os.environ["TOOL"]


@schemathesis.hook
def before_call(context, case, kwargs):
    case.body = here(case.body)
    if case.operation.path == "/api/v1/tools/call" and isinstance(case.body, dict):
        is_named = isinstance(case.body.get("name"), str) and case.body["name"]
        if is_named and set(case.body) == {"name", "arguments"}:
            case.body["name"] = TOOL


def here(value):
    """The same value, in which no text names another machine."""
    if isinstance(value, dict):
        return {key: here(part) for key, part in value.items()}
    if isinstance(value, list):
        return [here(part) for part in value]
    return moved(value) if isinstance(value, str) else value


def moved(text):
    """A URL that could be followed; what else is wrong with it, its length too, stays so."""
    url = URL.fullmatch(text)
    if not url or not could_be_reached(url[2], url[3]):
        return text
    new = url[1] + NOBODY + (url[4] or "")
    lacking = len(text) - len(new)
    if lacking > 0:
        return new + "/" + "0" * (lacking - 1)
    return new[: len(text)] if len(text) > LONG else new


def could_be_reached(host, port):
    if port and int(port[:6]) > 65535:
        return False
    if not host.startswith("["):
        return True
    try:
        return bool(ipaddress.ip_address(host[1:-1]))
    except ValueError:
        return False

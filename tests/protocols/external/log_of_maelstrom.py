"""Nodes for Maelstrom's workload `kafka`: `python3 log_of_maelstrom.py HOW`. They know nothing of zabcheck.

one: n0 gives each message its offset, and sends it to all; a poll stops at the first offset that is not there.
skip: as `one`, but a poll skips what is not there.
kept: as `one`, but n0 sends it to nobody.
each: as `one`, but each node gives offsets by itself.
cas: the log is a value of the service lin-kv, to which messages are added by compare-and-set.
write: as `cas`, but with a write.
"""

import json
import sys

how = sys.argv[1]
me, ids, number = "", [], 0
log = {}  # by offset
waiting = {}  # by the number of a request: what is done when it is answered


def tell(dest, **body):
    print(json.dumps({"src": me, "dest": dest, "body": body}), flush=True)


def ask(dest, then, **body):
    global number
    number += 1
    waiting[number] = then
    tell(dest, msg_id=number, **body)


def append(message, then):
    """Add a message to the log of this node, and call `then` with its offset."""
    offset = len(log)
    log[offset] = message
    for each in ids:
        if each != me and how != "kept":
            tell(each, type="copy", offset=offset, msg=message)
    then(offset)


def append_there(message, then):
    """Add a message to the log that lin-kv has."""

    def known(answer):
        old = answer.get("value", [])
        new = [*old, message]

        def done(said):
            return then(len(old)) if said["type"] in ("cas_ok", "write_ok") else append_there(message, then)

        if how == "write":
            ask("lin-kv", done, type="write", key="log", value=new)
        else:
            ask("lin-kv", done, type="cas", key="log", to=new, create_if_not_exists=True, **{"from": old})

    ask("lin-kv", known, type="read", key="log")


def handle(src, m):
    global me, ids
    answer = {"in_reply_to": m.get("msg_id")}
    kind = m["type"]
    if "in_reply_to" in m:
        waiting.pop(m["in_reply_to"])(m)
    elif kind == "init":
        me, ids = m["node_id"], m["node_ids"]
        tell(src, type="init_ok", **answer)
    elif kind == "copy":
        log[m["offset"]] = m["msg"]
    elif kind == "send" and how in ("cas", "write"):
        append_there(m["msg"], lambda offset: tell(src, type="send_ok", offset=offset, **answer))
    elif kind == "send" and (how == "each" or me == ids[0]):
        append(m["msg"], lambda offset: tell(src, type="send_ok", offset=offset, **answer))
    elif kind == "send":
        forward(src, m, answer)
    elif kind == "poll":
        poll(src, m, answer)


def forward(src, m, answer):
    def done(said):
        tell(src, type="send_ok", offset=said["offset"], **answer)

    ask(ids[0], done, type="send", key=m["key"], msg=m["msg"])


def poll(src, m, answer):
    [(key, offset)] = m["offsets"].items()
    if how in ("cas", "write"):

        def known(said):
            values = list(enumerate(said.get("value", [])))
            tell(src, type="poll_ok", msgs={key: values[offset:]}, **answer)

        return ask("lin-kv", known, type="read", key="log")
    found = []
    while offset in log or (how == "skip" and offset < max(log, default=0)):
        if offset in log:
            found.append([offset, log[offset]])
        offset += 1
    return tell(src, type="poll_ok", msgs={key: found}, **answer)


for text in sys.stdin:
    line = json.loads(text)
    handle(line["src"], line["body"])

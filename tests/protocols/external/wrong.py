"""A node of a few lines, in which something is wrong: `python3 wrong.py WHAT`. It needs no kit."""

import itertools
import json
import os
import signal
import sys
import time

what = sys.argv[1]
if what == "at once":
    sys.exit("no such table")
numbers = itertools.count()
snapshots = ("forgets", "tells no state", "never told", "cannot reset")
remembered = 0
for text in sys.stdin:
    line = json.loads(text)
    me, body = line["dest"], line["body"]
    end = {"type": "init_ok" if body["type"] == "init" else "done", "in_reply_to": line["id"]}
    if body["type"] == "init" and what != "new":
        end["reset"] = True
        if what in snapshots:
            end.update(snapshot=True, reset=what != "cannot reset")
    if body["type"] == "reset":
        end["type"] = "reset_ok"
        me = "node"
    if body["type"] in ("init", "reset", "restore"):
        remembered = 0
    if body["type"] == "restore":
        end["type"] = "restore_ok"
    if body["type"] == "snapshot":
        told = {"epoch": 1, "state": remembered if what == "never told" else None}
        end.update({"type": "done"} if what == "tells no state" else {"type": "snapshot_ok", **told})
    if body["type"] == "elected" and body["leader"] == me:
        print("elected me", file=sys.stderr, flush=True)
        answer = {"type": "event", "event": "ready", "epoch": 1}
        match what:
            case "hangs" | "hangs until Ctrl-C":
                if what != "hangs":
                    os.kill(os.getppid(), signal.SIGINT)
                while True:
                    time.sleep(1)
            case "dies":
                sys.exit(3)
            case "kills itself":
                os.abort()
            case "no JSON":
                print("hello")
            case "no body":
                print('{"src": "p1", "dest": "p2", "body": {}}')
            case "nobody":
                print('{"src": "p1", "dest": "p9", "body": {"type": "x"}}')
            case "an epoch":
                answer["epoch"] = "one"
            case "an event":
                answer["event"] = "heat_death"
            case "another line":
                end["in_reply_to"] = 1
            case "too much":
                end["type"] = "done"
                print(json.dumps({"src": me, "dest": "zabcheck", "body": end}))
            case "fails":
                answer = {"type": "error", "text": "out of memory", "code": 13}
            case "random":
                answer["epoch"] = os.getpid()
            case "counts":
                answer["epoch"] = next(numbers)
            case "random and counts":  # another number each time, whichever process answers
                answer["epoch"] = 100 * os.getpid() + next(numbers)
            case "forgets" | "never told":
                remembered += 1
                answer["epoch"] = remembered
        print(json.dumps({"src": me, "dest": "zabcheck", "body": answer}))
    print(json.dumps({"src": me, "dest": "zabcheck", "body": end}), flush=True)

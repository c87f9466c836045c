"""Errors of Spark in one line. Spark itself prints pages of Java, with the traceback of a worker inside."""

import re

_OWN = r"^(?:\w+\.)*(?:StoreError|ValueError|NoZooKeeper|NoJava|NotSimulated): (.+)$"
"""An exception that our own code raised; its message needs nothing added."""
_TRACEBACK = r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)+(?:\w+\.)*(\w.*)$"
_GRPC = r'details = "(.+?)"'
_CAUSES = r"^Caused by: (?:\w+\.)*(\w+: .+)$"
_FIRST = r'(?:^|: |" )(?:\w+\.)*(\w+(?:Error|Exception|Failed): .+)$'


def one_line(error: Exception) -> str:
    """Return the message of an error of Spark, in one line.

    The first of these that the text contains: the last line of a worker's traceback, the details of gRPC, Java's
    causes, an exception, the text's first line.
    """
    text = str(error)
    for pattern in (_OWN, _TRACEBACK, _GRPC):
        if found := re.findall(pattern, text, re.MULTILINE):
            return str(found[-1])
    causes = list(dict.fromkeys(re.findall(_CAUSES, text, re.MULTILINE)))
    telling = [
        each for each in causes if not any(each.partition(": ")[2] in other for other in causes if other != each)
    ]
    if telling:
        return ", ".join(telling)
    first = re.search(_FIRST, text, re.MULTILINE)
    return first[1] if first else text.strip().partition("\n")[0] or type(error).__name__

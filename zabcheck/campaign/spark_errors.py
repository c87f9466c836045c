"""What went wrong, in one line, of what Spark says about it: pages of Java, with the traceback of a worker inside."""

import re

_OWN = r"^(?:\w+\.)*(?:StoreError|ValueError): (.+)$"
"""What our own code raised says it all."""
_GRPC = r'details = "(.+?)"'
_CAUSES = r"^Caused by: (?:\w+\.)*(\w+: .+)$"
_FIRST = r'(?:^|: |" )(?:\w+\.)*(\w+(?:Error|Exception|Failed): .+)$'


def reason(error: Exception) -> str:
    """What a worker's traceback ends with; else what gRPC says; else Java's causes, or its exception."""
    text = str(error)
    for pattern in (_OWN, _GRPC):
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

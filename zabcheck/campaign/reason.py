"""What went wrong, in one line, of what Spark says about it: pages of Java, with the traceback of a worker inside."""

import re

_OWN = r"^(?:\w+\.)*(?:StoreError|ValueError): (.+)$"
"""What our own code raised says it all."""
_GRPC = r'details = "(.+?)"'
_CAUSES = r"^Caused by: (?:\w+\.)*(\w+: .+)$"
_FIRST = r'(?:^|: |" )(?:\w+\.)*(\w+(?:Error|Exception|Failed): .+)$'


def reason(error: Exception) -> str:
    """What a worker's traceback ends with; else what gRPC says; else Java's deepest cause, or its exception."""
    text = str(error)
    for pattern, place in ((_OWN, -1), (_GRPC, 0), (_CAUSES, -1), (_FIRST, 0)):
        found = re.findall(pattern, text, re.MULTILINE)
        if found:
            return str(found[place])
    return text.strip().partition("\n")[0] or type(error).__name__

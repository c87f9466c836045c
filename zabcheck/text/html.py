"""What every HTML page of ours has in common: it stands alone, in light and dark, and lets nothing in from outside.

No page loads anything. Its policy lets its own style apply, and its own script run if it has one, told by its hash: so
a text that got through as markup could still do nothing.
"""

from base64 import b64encode
from hashlib import sha256
from html import escape

from zabcheck.text.words import LONGEST, clean

COLOURS = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --faint: #8a929b; --line: #d8dee4; --paper: #ffffff;
  --tint: #f4f6f8; --one: #0b62a8; --two: #b4530a; --good: #116329; --warning: #855700; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7ea; --soft: #a4adb6; --faint: #7b848d; --line: #353b42;
  --paper: #14171a; --tint: #1d2126; --one: #6db3f2; --two: #f2a65a; --good: #6fce8b; --warning: #e3b341;
  --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif;
  overflow-wrap: anywhere; }
a { color: var(--one); }
"""


def document(title: str, style: str, body: str, script: str = "") -> str:
    """A whole page. `style`, `body` and `script` are markup already; `script` must not hold "</" or "]]>"."""
    assert "</" not in script
    assert "]]>" not in script
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    if script:
        script = f"//<![CDATA[\n{script}//]]>"  # for HTML two comments; for XML what makes it text
        policy += f"; script-src 'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
        script = f"<script>{script}</script>\n"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="{policy}"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>{text(title)}</title>
<style>{COLOURS}{style}</style>
</head>
<body>
{body}{script}</body>
</html>
"""


def text(words: str, longest: int = 8 * LONGEST) -> str:
    """`words` cleaned and escaped."""
    return escape(clean(words, longest=longest))

"""The frame of every HTML page of ours: it stands alone, comes in light and dark, and lets nothing in from outside.

It is printed in light. No page loads anything. The content security policy allows the page's own style, and its own
script by its hash. So a text that was mistaken for markup could still do nothing.
"""

from base64 import b64encode
from hashlib import sha256
from html import escape

from zabcheck.text.words import LONGEST, clean

COLOURS = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --faint: #8a929b; --line: #d8dee4; --paper: #ffffff;
  --tint: #f4f6f8; --one: #0b62a8; --two: #b4530a; --good: #116329; --warning: #855700; --bad: #b3261e; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e4e7ea; --soft: #a4adb6; --faint: #7b848d;
  --line: #353b42; --paper: #14171a; --tint: #1d2126; --one: #6db3f2; --two: #f2a65a; --good: #6fce8b;
  --warning: #e3b341; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif;
  overflow-wrap: anywhere; }
a { color: var(--one); }
"""


def document(title: str, style: str, body: str, script: str = "") -> str:
    """Return a whole page. `style`, `body` and `script` are inserted as they are; `script` has no "</" and no "]]>"."""
    assert "</" not in script
    assert "]]>" not in script
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    if script:
        script = f"//<![CDATA[\n{script}//]]>"  # two comments for HTML; for XML this makes the script text
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
    """Return `words` cleaned, and escaped for HTML."""
    return escape(clean(words, longest=longest))

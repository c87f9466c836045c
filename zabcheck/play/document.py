"""The page of `zabcheck play`, without what it shows: the server sends that in regions."""

from functools import cache
from importlib.resources import files

from zabcheck.counterexample.forms.diagram_style import style
from zabcheck.counterexample.forms.page import COLOURS as OF_DIAGRAM
from zabcheck.counterexample.forms.page import resource as of_pages
from zabcheck.text.html import COLOURS, text


def document(title: str = "zabcheck play", read_only: bool = False) -> str:
    """Return the page, which loads `play.css` and `play.js` from beside it.

    With `read_only` it is that of a run that does not go on.
    """
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>{text(title)}</title>
<link rel="icon" href="data:,"/>
<link rel="stylesheet" href="play.css"/>
<script type="module" src="play.js"></script>
</head>
<body{' class="read-only"' if read_only else ""}>
{_markup()}</body>
</html>
"""


@cache
def resource(file: str) -> str:
    """Return a file of the page. The style sheet begins with that of the pages of counterexamples."""
    own = files("zabcheck.play").joinpath("page", file).read_text(encoding="utf-8")
    return COLOURS + of_pages("page.css") + style(OF_DIAGRAM) + own if file == "play.css" else own


def _markup() -> str:
    return files("zabcheck.play").joinpath("page", "page.html").read_text(encoding="utf-8")

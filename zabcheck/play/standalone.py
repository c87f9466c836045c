"""A session as one page that stands alone: every run that was tried, without a server and without a script."""

from zabcheck.counterexample.forms.page import resource, verdict
from zabcheck.counterexample.forms.svg import to_svg
from zabcheck.counterexample.pieces import labels_by_step
from zabcheck.play.link import link_of
from zabcheck.play.naming import named_at
from zabcheck.play.session import Position, Session
from zabcheck.text.html import document, text
from zabcheck.text.nodes import option_of
from zabcheck.text.words import counted

_STYLE = ".link { overflow-wrap: anywhere; font-size: 0.8125rem; } section { margin-top: 2rem; }\n"


def standalone(session: Session, title: str) -> str:
    """Return the page. ValueError if the protocol is not deterministic. Cost: two executions of each run."""
    leaves = session.branches()
    contents = "".join(f'<li><a href="#run-{leaf.number}">{_titled(leaf)}</a></li>\n' for leaf in leaves)
    contents = f"<nav><h2>What was tried</h2><ol>{contents}</ol></nav>\n" if len(leaves) > 1 else ""
    runs = "".join(_run(session, leaf) for leaf in leaves)
    body = f'<header><h1 class="fine">{text(title)}</h1></header>\n<main>\n{contents}{runs}</main>\n'
    return document(title, resource("page.css") + _STYLE, body)


def _titled(leaf: Position) -> str:
    """Return where a run parts from those tried before it, and what came of it."""
    parting = next((each for each in leaf.path[1:] if each.before and each.before.after[0] is not each), None)
    where = "the first run" if parting is None else f"parts with {named_at(parting)}"
    broken = "the protocol's own code raised" if leaf.raised is not None else f"{', '.join(leaf.broken)} violated"
    return text(f"{where}: {broken if leaf.raised is not None or leaf.broken else 'nothing violated'}")


def _run(session: Session, leaf: Position) -> str:
    story = session.story(leaf)
    link = link_of(session.replay(leaf))
    said = f"<p>{text(story.violation.summary)}. {text(' '.join(story.explanation))}</p>" if story.violation else ""
    picture = f'<figure tabindex="0" aria-label="Space-time diagram">{to_svg(story, labels_by_step(story))}</figure>'
    command = f"zabcheck play {link}{option_of(session.protocol.name)}"
    return (
        f'<section id="run-{leaf.number}" aria-labelledby="title-{leaf.number}">\n'
        f'<h2 id="title-{leaf.number}">{_titled(leaf)}</h2>\n<p>{text(verdict(story))}, '
        f"{counted(len(story.moments), 'step', 'steps')}</p>\n{said}\n{picture if story.moments else ''}\n"
        f'<details><summary>Go on with it</summary><p class="link"><code>{text(command, len(command))}</code></p>'
        f"<p>trace SHA-256 {story.sha256}</p></details>\n</section>\n"
    )

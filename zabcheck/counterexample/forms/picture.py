"""The diagram of a run as a PNG picture, for places that take no SVG.

resvg (https://github.com/linebender/resvg) draws it, with the DejaVu fonts that come with matplotlib and no others: a
machine may have no fonts, and the same run should give the same picture everywhere. A character that these fonts lack
is drawn as a box.
"""

from pathlib import Path

from zabcheck.counterexample.forms.svg import size, to_svg
from zabcheck.counterexample.pieces import Labels
from zabcheck.counterexample.story import Story
from zabcheck.extras import pip_install

ZOOM = 2.0
"""The pixels of the picture for one of the diagram, so that small letters are sharp."""
MOST_PIXELS = 64_000_000
"""The most pixels of a picture, which take 256 MB while they are drawn. A longer run gets a smaller zoom."""
FONTS = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")


def to_png(story: Story, labels: Labels) -> bytes:
    """Return the picture, on white. With the same version of resvg, the same story gives the same bytes.

    ImportError if the libraries of the extra `png` are missing; the message says how to install them.
    """
    try:
        import matplotlib
        import resvg_py
    except ImportError as missing:
        raise ImportError(f"to draw PNG pictures, {pip_install('png')} ({missing})") from None
    width, height = size(story, labels)
    fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return resvg_py.svg_to_bytes(
        svg_string=to_svg(story, labels, dark=False),
        zoom=min(ZOOM, (MOST_PIXELS / (width * height)) ** 0.5),
        font_files=[str(fonts / font) for font in FONTS],
        skip_system_fonts=True,
        font_family="DejaVu Sans",
        sans_serif_family="DejaVu Sans",
    )

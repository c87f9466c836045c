"""The diagram of a run as a PNG picture, for where no SVG can go.

resvg draws it (https://github.com/linebender/resvg), with the DejaVu fonts that come with matplotlib and with no other:
a machine may have none, and the same run shall give the same picture everywhere. A sign that these fonts lack is drawn
as a box.
"""

from pathlib import Path

from zabcheck.counterexample.forms.diagram import size, stand_alone
from zabcheck.counterexample.pieces import Labels
from zabcheck.counterexample.story import Story

ZOOM = 2.0
"""Pixels of the picture for one of the diagram, so that small letters are sharp."""
MOST_PIXELS = 64_000_000
"""A longer run gets a smaller zoom: so many pixels take 256 MB while they are drawn."""
FONTS = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")


def to_png(story: Story, labels: Labels) -> bytes:
    """The picture, on white. The same story gives the same bytes, as long as the version of resvg is the same.

    ImportError if the libraries of the extra `png` are missing; its message says how to get them.
    """
    try:
        import matplotlib
        import resvg_py
    except ImportError as missing:
        raise ImportError(f"to draw PNG pictures, pip install 'zabcheck[png]' ({missing})") from None
    width, height = size(story, labels)
    fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return resvg_py.svg_to_bytes(
        svg_string=stand_alone(story, labels, dark=False),
        zoom=min(ZOOM, (MOST_PIXELS / (width * height)) ** 0.5),
        font_files=[str(fonts / font) for font in FONTS],
        skip_system_fonts=True,
        font_family="DejaVu Sans",
        sans_serif_family="DejaVu Sans",
    )

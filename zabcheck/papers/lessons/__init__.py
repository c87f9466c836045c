"""Twelve lessons on Zab, each a run to go on with: from an election of two processes to the invariants of the proof.

To add one, append it to a tuple `LESSONS`.
"""

from zabcheck.papers.lessons import phases, reasons
from zabcheck.papers.lessons.base import Lesson

LESSONS: dict[str, Lesson] = {lesson.name: lesson for lesson in (*phases.LESSONS, *reasons.LESSONS)}
"""By name, in the order in which they are to be read."""

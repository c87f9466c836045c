"""The properties under a name that no other project on the package index has; the same objects as `invariants`."""

from invariants import *  # noqa: F403
from invariants import __all__ as __all__

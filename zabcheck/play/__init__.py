"""A run that a person takes up at any step and goes on with, and everything that was tried beside it."""

from zabcheck.play.session import NotPossible as NotPossible
from zabcheck.play.session import Session as Session

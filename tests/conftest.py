"""What holds for all tests: no run leaves anything that another finds."""

from hypothesis import settings

settings.register_profile("without a database", settings(), database=None)
settings.load_profile("without a database")

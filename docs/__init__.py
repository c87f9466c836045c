"""Makes `docs.generators` a package of this repository, whatever else is installed under that name."""

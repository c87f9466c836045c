"""Writes what the documentation shows: output of commands, tables, pages, pictures.

One module for each page. Its `made()` returns every file that it is responsible for, with the content that the file
has to have now. `python -m docs.generators` writes the files and `docs/generators/site.py` builds the site; `make docs`
does both. The tests compare what is committed with what is made.
"""

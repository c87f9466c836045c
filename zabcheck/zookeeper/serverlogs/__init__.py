"""The logs that operators have of their servers, at level INFO: a timeline, what is wrong, and which bug it may be.

`reading` finds the lines of each server in files of any usual form, `timeline` what they say in order, and `problems`
what is wrong, with the known bugs that may be the reason and those that are not.
"""

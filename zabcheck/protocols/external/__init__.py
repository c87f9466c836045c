"""A process in any language, as an operating-system process that is single-stepped over its stdin and stdout.

`wire` has what is written on a line, `running` one operating-system process, `pool` those of a command, `guard` ends
them when zabcheck ends, and `node` makes the table of steps of them. docs/any-language.md is the specification.
"""

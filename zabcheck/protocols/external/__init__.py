"""A process in any language, as an operating-system process that is single-stepped over its stdin and stdout.

`wire` has what is written on a line, `running` one operating-system process, `pool` those of a command, `guard` ends
them when zabcheck ends, `node` is a process of a run, `shown` has what reports show of it, and `protocol` the table of
steps of such processes. `rest` and `maelstrom` are the same for programs that were written for Maelstrom.
docs/any-language.md is the specification.
"""

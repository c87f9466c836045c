"""The forms of a counterexample: terminal, page, diagram, graphs, exports, a regression test."""

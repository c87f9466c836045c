"""Checks a refutation of an obligation. Nothing is searched for here: each line of a refutation is looked at once.

An obligation is refuted, and so its statement proved, in four steps, of which a refutation records the choices:

1. Definitions are expanded, negations pushed inward, and each "there is an x" is replaced by a new function of the
   variables around it (Skolem). The formulas that are left say "for all". They have a model if and only if the
   obligation has one.
2. `instance N t…`: formula N is taken for these terms. What is true of everything is true of them.
3. `transitive a b c` and `congruent a b`: two axioms of equality, taken for these terms.
4. `lemma l…`: a clause that follows from those before by unit propagation: if all its literals are false, each clause
   with one literal left makes that one true, until a clause has none (Goldberg and Novikov, DATE 2003). The last lemma
   has no literal: nothing is left that could be true.

A literal is the number of a formula, in the order in which steps 2 to 4 meet them, or minus that number. A compound
formula implies what it says of its parts (Plaisted and Greenbaum 1986), so that clauses stay short.

This file imports nothing of zabcheck and no solver: whoever doubts a proof has this to read. It can be run alone, as in
`python refutation.py *.smt2` in the folder of a certificate.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Expression = Any
"""A name, or a tuple of expressions: what stands between a pair of parentheses."""

TRUE: Expression = ("and",)
FALSE: Expression = ("or",)


class NotRefuted(Exception):
    """The text is no refutation of the script; the message has the line, and what was expected there."""


def expressions(text: str) -> list[Expression]:
    """Return the expressions of a text in SMT-LIB, without its comments. ValueError if a parenthesis has no other."""
    open_ones: list[list[Expression]] = [[]]
    for token in re.findall(r"[()]|[^\s()]+", re.sub(r";[^\n]*", "", text)):
        if token == "(":
            open_ones.append([])
        elif token == ")":
            if len(open_ones) == 1:
                raise ValueError("a `)` without its `(`")
            closed = tuple(open_ones.pop())
            open_ones[-1].append(closed)
        else:
            open_ones[-1].append(token)
    if len(open_ones) > 1:
        raise ValueError("a `(` without its `)`")
    return open_ones[0]


def written(expression: Expression) -> str:
    """Return an expression as text."""
    return expression if isinstance(expression, str) else f"({' '.join(map(written, expression))})"


@dataclass(frozen=True)
class Universal:
    """A formula without quantifiers, true of all values of its variables; negations stand before atoms only."""

    variables: tuple[str, ...]
    matrix: Expression

    def of(self, terms: Sequence[Expression]) -> Expression:
        """Return the formula for these values of its variables."""
        return _replaced(self.matrix, dict(zip(self.variables, terms, strict=True)))


@dataclass
class Script:
    """The formulas of an obligation after step 1, with the sorts of the functions and variables in them."""

    functions: dict[str, tuple[tuple[str, ...], str]] = field(default_factory=dict)
    """The sorts of the arguments, and of the value, by the function's name."""
    variables: dict[str, str] = field(default_factory=dict)
    """The sort of each variable."""
    universals: list[Universal] = field(default_factory=list)

    def declare(self, name: str, sorts: tuple[str, ...], value: str) -> None:
        """Add a function. ValueError if there is one of this name, or the name has a meaning of its own."""
        has_meaning = name in ("=", "not", "and", "or", "true", "false", "forall", "exists") or name.startswith("?")
        if name in self.functions or has_meaning:
            raise ValueError(f"`{name}` has a meaning already")
        self.functions[name] = sorts, value

    def sort(self, term: Expression) -> str:
        """Return the sort of a term without variables. ValueError if it has none."""
        name, *arguments = (term,) if isinstance(term, str) else term
        if not isinstance(name, str) or name not in self.functions:
            raise ValueError(f"no function `{written(name)}`")
        sorts, value = self.functions[name]
        if tuple(self.sort(each) for each in arguments) != sorts:
            raise ValueError(f"`{name}` takes {' '.join(sorts) or 'nothing'}")
        return value


def read(text: str) -> Script:
    """Return the formulas of an obligation in SMT-LIB. ValueError if a command is of another kind than ours are."""
    script, definitions = Script(), {}
    for command in expressions(text):
        match command:
            case ("set-logic", "UF") | ("check-sat",):
                pass
            case ("declare-sort", str(name), "0"):
                # A sort is never empty, also if no constant is of it.
                script.declare(f"some-{name}", (), name)
            case ("declare-const", str(name), sort):
                script.declare(name, (), sort)
            case ("declare-fun", str(name), sorts, value):
                script.declare(name, sorts, value)
            case ("define-fun", str(name), parameters, "Bool", body) if name not in definitions:
                definitions[name] = [each for each, _ in parameters], body
            case ("assert", formula):
                _Reader(script, definitions).add(formula)
            case _:
                raise ValueError(f"no command of an obligation: {written(command)[:80]}")
    return script


class _Reader:
    """Takes the quantifiers out of an assertion."""

    def __init__(self, script: Script, definitions: Mapping[str, tuple[list[str], Expression]]) -> None:
        self.script = script
        self.definitions = definitions

    def add(self, formula: Expression) -> None:
        """Add the parts of an assertion that are joined by "and", each with the variables that are in it."""
        for part in _parts(self._matrix(formula, True, {}, ())):
            self.script.universals.append(Universal(tuple(dict.fromkeys(_variables(part))), part))

    def _matrix(
        self, formula: Expression, positive: bool, known: Mapping[str, Expression], around: tuple[str, ...]
    ) -> Expression:
        """Return a formula, or its negation, without quantifiers.

        `known` has the meanings of the names bound here, `around` the variables of the "for all" outside.
        """
        head, *rest = (formula,) if isinstance(formula, str) else formula
        match head:
            case "not":
                return self._matrix(rest[0], not positive, known, around)
            case "true" | "false":
                return TRUE if (head == "true") is positive else FALSE
            case "and" | "or":
                word = head if positive else {"and": "or", "or": "and"}[head]
                return (word, *(self._matrix(each, positive, known, around) for each in rest))
            case "forall" | "exists":
                bound, body = rest
                for name, sort in bound:
                    known, around = self._bind(name, sort, (head == "forall") is positive, known, around)
                return self._matrix(body, positive, known, around)
            case _ if head in self.definitions:
                parameters, body = self.definitions[head]
                values = [_replaced(each, known) for each in rest]
                return self._matrix(body, positive, dict(zip(parameters, values, strict=True)), around)
        atom = (head, *(_replaced(each, known) for each in rest))
        return atom if positive else ("not", atom)

    def _bind(
        self, name: str, sort: str, for_all: bool, known: Mapping[str, Expression], around: tuple[str, ...]
    ) -> tuple[Mapping[str, Expression], tuple[str, ...]]:
        """Return the meanings and variables with one more name: a new variable, or a new function of those outside."""
        variables, functions = self.script.variables, self.script.functions
        if for_all:
            variable = f"?{len(variables) + 1}"
            variables[variable] = sort
            return {**known, name: variable}, (*around, variable)
        function = f"{name}-{len(functions) + 1}"
        self.script.declare(function, tuple(variables[each] for each in around), sort)
        return {**known, name: (function, *around) if around else function}, around


def _replaced(term: Expression, meanings: Mapping[str, Expression]) -> Expression:
    """Return a term with the names in it replaced by their meanings."""
    if isinstance(term, str):
        return meanings.get(term, term)
    return (term[0], *(_replaced(each, meanings) for each in term[1:]))


def _parts(formula: Expression) -> Iterator[Expression]:
    if formula[0] != "and":
        yield formula
        return
    for each in formula[1:]:
        yield from _parts(each)


def _variables(expression: Expression) -> Iterator[str]:
    if isinstance(expression, str):
        if expression.startswith("?"):
            yield expression
        return
    for each in expression[1:]:
        yield from _variables(each)


class Clauses:
    """The clauses that instances, axioms and lemmas have given so far."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.numbers: dict[Expression, int] = {}
        """The number of each formula that was met."""
        self.clauses: list[tuple[int, ...]] = []
        self._with: defaultdict[int, list[tuple[int, ...]]] = defaultdict(list)

    def instance(self, number: int, terms: Sequence[Expression]) -> None:
        """Add formula `number`, counted from 1, for these terms. ValueError if there is none, or a sort is wrong."""
        if not 1 <= number <= len(self.script.universals):
            raise ValueError(f"no formula {number}")
        universal = self.script.universals[number - 1]
        expected = [self.script.variables[each] for each in universal.variables]
        if [self.script.sort(each) for each in terms] != expected:
            raise ValueError(f"formula {number} is about {' '.join(expected) or 'nothing'}")
        self.add([self.literal(universal.of(terms))])

    def transitive(self, a: Expression, b: Expression, c: Expression) -> None:
        """Add that a = b and b = c imply a = c. ValueError if they are not of one sort."""
        if not self.script.sort(a) == self.script.sort(b) == self.script.sort(c) != "Bool":
            raise ValueError("expected three terms of one sort")
        self.add([self._equal(a, b, False), self._equal(b, c, False), self._equal(a, c, True)])

    def congruent(self, a: Expression, b: Expression) -> None:
        """Add that a function, or a relation, of equal things is equal. ValueError if a and b are not of one."""
        if isinstance(a, str) or isinstance(b, str) or a[0] != b[0] or self.script.sort(a) != self.script.sort(b):
            raise ValueError("expected one function of two lists of arguments")
        differ = [self._equal(one, other, False) for one, other in zip(a[1:], b[1:], strict=True)]
        if self.script.sort(a) != "Bool":
            self.add([*differ, self._equal(a, b, True)])
            return
        self.add([*differ, self.literal(("not", a)), self.literal(b)])
        self.add([*differ, self.literal(a), self.literal(("not", b))])

    def _equal(self, a: Expression, b: Expression, positive: bool) -> int:
        atom = ("=", a, b)
        return self.literal(atom if positive else ("not", atom))

    def literal(self, formula: Expression) -> int:
        """Return the literal of a formula; a compound one that is new gets the clauses of what it implies."""
        if formula[0] == "=":
            if formula[1] == formula[2]:
                return self.literal(TRUE)
            formula = ("=", *sorted(formula[1:], key=written))
        elif formula[0] == "not":
            return (
                self.literal(FALSE)
                if formula[1][0] == "=" and formula[1][1] == formula[1][2]
                else -self.literal(formula[1])
            )
        if formula not in self.numbers:
            number = self.numbers[formula] = len(self.numbers) + 1
            if formula[0] == "and":
                for each in formula[1:]:
                    self.add([-number, self.literal(each)])
            elif formula[0] == "or":
                self.add([-number, *(self.literal(each) for each in formula[1:])])
        return self.numbers[formula]

    def add(self, clause: Iterable[int]) -> None:
        """Add a clause."""
        kept = tuple(dict.fromkeys(clause))
        self.clauses.append(kept)
        for literal in kept:
            self._with[literal].append(kept)

    def follows(self, lemma: Iterable[int]) -> bool:
        """Return True if unit propagation leaves a clause without a literal when those of the lemma are false."""
        return self.propagated(-literal for literal in lemma) is None

    def propagated(self, literals: Iterable[int]) -> set[int] | None:
        """Return the literals that are true if these are, by unit propagation; None if a clause has none left."""
        true: set[int] = set()
        waiting = [*(each[0] for each in self.clauses if len(each) == 1), *literals]
        if () in self.clauses:
            return None
        while waiting:
            literal = waiting.pop()
            if literal in true:
                continue
            if -literal in true:
                return None
            true.add(literal)
            for clause in self._with[-literal]:
                left = None
                for each in clause:
                    if each in true or (-each not in true and left is not None):
                        break
                    if -each not in true:
                        left = each
                else:
                    if left is None:
                        return None
                    waiting.append(left)
        return true


def check(text: str, refutation: str) -> None:
    """Check that a refutation refutes the obligation in `text`. NotRefuted if it does not.

    Linear in the length of the refutation, and a lemma takes a time linear in the clauses before it.
    """
    try:
        clauses = Clauses(read(text))
    except ValueError as error:
        raise NotRefuted(f"the obligation: {error}") from None
    closed = False
    for number, line in enumerate(refutation.splitlines(), 1):
        try:
            closed = take(clauses, line)
        except ValueError as error:
            raise NotRefuted(f"line {number}: {error}") from None
    if not closed:
        raise NotRefuted("the last line is no empty lemma")


def take(clauses: Clauses, line: str) -> bool:
    """Add what a line of a refutation says; return True if nothing is left that could be true.

    ValueError if it does not follow.
    """
    match expressions(line):
        case ["instance", str(number), *terms] if number.isdecimal():
            clauses.instance(int(number), terms)
        case ["transitive", a, b, c]:
            clauses.transitive(a, b, c)
        case ["congruent", a, b]:
            clauses.congruent(a, b)
        case ["lemma", *literals]:
            lemma = _numbers(literals, len(clauses.numbers))
            if not clauses.follows(lemma):
                raise ValueError("the lemma does not follow from the clauses before it")
            clauses.add(lemma)
            return not lemma
        case _:
            raise ValueError("expected an instance, transitive, congruent or a lemma")
    return False


def _numbers(literals: Sequence[Expression], known: int) -> list[int]:
    """Return the literals of a lemma. ValueError unless each is the number of a formula, or minus that."""
    found = []
    for each in literals:
        if not isinstance(each, str) or not re.fullmatch(r"-?[1-9]\d{0,8}", each) or abs(int(each)) > known:
            raise ValueError(f"`{written(each)}` is no literal")
        found.append(int(each))
    return found


def main(files: Sequence[str]) -> int:
    """Check the refutation beside each of these files, print what is wrong, and return 1 if something is."""
    wrong = 0
    for name in files:
        try:
            with open(name, encoding="utf-8") as script, open(f"{name}.refutation", encoding="utf-8") as lines:
                check(script.read(), lines.read())
        except (OSError, NotRefuted) as error:
            print(f"{name}: {error}", file=sys.stderr)
            wrong += 1
    print(f"{len(files) - wrong} of {len(files)} refuted")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

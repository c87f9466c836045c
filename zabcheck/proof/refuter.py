"""Finds refutations of obligations, which `refutation` checks.

cvc5 names the instances from which a contradiction follows, z3 the few of them that it takes, and the axioms of
equality. What is left has no quantifiers and is small: it is refuted by cases, and each case that is closed is a lemma.
Nothing here has to be trusted.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, islice, product
from typing import Any

from zabcheck.extras import pip_install
from zabcheck.proof import refutation
from zabcheck.proof.prover import NoSolver, load
from zabcheck.proof.refutation import Clauses, Expression, Script, written

OPTIONS: tuple[dict[str, str], ...] = (
    {},
    {"finite-model-find": "true"},
    {"enum-inst": "true"},
    {"enum-inst": "true", "enum-inst-interleave": "true", "enum-inst-sum": "true"},
    {"enum-inst": "true", "enum-inst-stratify": "true"},
    {"mbqi": "true"},
)
"""The ways in which cvc5 is asked for instances, one after the other: by matching, by models, by enumeration."""
ALWAYS = {"miniscope-quant": "off", "var-elim-quant": "false", "cond-var-split-quant": "off", "dag-thresh": "0"}
"""The formulas stay as they are, for cvc5's instances are to be instances of them."""
EFFORTS = (30_000, 200_000, 1_000_000)
"""The budgets of the tries, in cvc5's resource units: on every machine the same work, of a tenth of a second to six."""
LONGEST = "20000"
"""The milliseconds after which a try ends that takes no account of its budget, as enumeration may."""

MANY = 300
"""The number of lemmas after which it is worth while to look ahead."""


def refute(text: str) -> str | None:
    """Return a refutation of an obligation in SMT-LIB; None if none was found. NoSolver without z3 and cvc5.

    Takes a tenth of a second of CPU time on average, for the longest five seconds.
    """
    script = refutation.read(text)
    for effort, options in product(EFFORTS, OPTIONS):
        found = _instances(script, {"rlimit-per": str(effort), "tlimit-per": LONGEST, **options})
        if found is None:
            continue
        needed = _needed(script, found) or _needed(script, [*found, *_of_others(script, found)])
        if needed is not None:
            lines = _with_axioms(script, needed)
            return "".join(f"{line}\n" for line in [*lines, *_lemmas(script, lines)])
    return None


Instance = tuple[int, tuple[Expression, ...]]
"""A formula by its number, and a term for each of its variables."""


def _instances(script: Script, options: dict[str, str]) -> list[Instance] | None:
    """Return the instances by which cvc5 refutes the formulas; None if it does not."""
    try:
        import cvc5
    except ImportError:
        raise NoSolver(f"cvc5 is not installed: {pip_install('prove')}") from None
    solver = cvc5.Solver()
    for name, value in {**ALWAYS, **options}.items():
        solver.setOption(name, value)
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, _formulas(script), "formulas")
    symbols, said = parser.getSymbolManager(), ""
    while not (command := parser.nextCommand()).isNull():
        said += command.invoke(solver, symbols)
    if said.strip() != "unsat":
        return None
    found: list[Instance] = [(n, ()) for n, each in enumerate(script.universals, 1) if not each.variables]
    for group in refutation.expressions(solver.getInstantiations().decode()):
        match group:
            case ("instantiations", name, *terms):
                number = int(name.removeprefix("formula-"))
                sorts = [script.variables[each] for each in script.universals[number - 1].variables]
                found += [
                    (number, tuple(_known(script, term, sort) for term, sort in zip(group, sorts, strict=True)))
                    for group in terms
                ]
    return found


def _of_others(script: Script, instances: Iterable[Instance]) -> Iterator[Instance]:
    """Yield an instance of each formula that has none here: cvc5 names none of a formula that it has split.

    Any will do where the variables make no difference.
    """
    named = {number for number, _ in instances}
    for number, each in enumerate(script.universals, 1):
        if number not in named:
            yield number, tuple(f"some-{script.variables[variable]}" for variable in each.variables)


def _known(script: Script, term: Expression, sort: str) -> Expression:
    """Return a term; instead of a constant that cvc5 has made up, the one of its sort that may be anything."""
    if isinstance(term, str):
        return term if term in script.functions else f"some-{sort}"
    sorts, _ = script.functions[term[0]]
    return (term[0], *(_known(script, each, of) for each, of in zip(term[1:], sorts, strict=True)))


def _formulas(script: Script) -> str:
    """Return the formulas in SMT-LIB, each "for all" with its number as a name."""
    sorts = sorted({value for _, value in script.functions.values()} - {"Bool"})
    lines = ["(set-logic UF)", *(f"(declare-sort {each} 0)" for each in sorts)]
    lines += [f"(declare-fun {name} ({' '.join(of)}) {value})" for name, (of, value) in script.functions.items()]
    for number, each in enumerate(script.universals, 1):
        body = _in_smtlib(each.matrix)
        if each.variables:
            bound = " ".join(f"({variable} {script.variables[variable]})" for variable in each.variables)
            body = f"(forall ({bound}) (! {body} :qid formula-{number}))"
        lines.append(f"(assert {body})")
    return "\n".join([*lines, "(check-sat)"])


def _in_smtlib(formula: Expression) -> str:
    """Return a formula without quantifiers as text; SMT-LIB has names for an empty "and" and an empty "or"."""
    if formula in (refutation.TRUE, refutation.FALSE):
        return "true" if formula == refutation.TRUE else "false"
    if formula[0] in ("and", "or", "not"):
        return f"({formula[0]} {' '.join(map(_in_smtlib, formula[1:]))})"
    return written(formula) if formula[1:] else formula[0]


def _needed(script: Script, instances: Iterable[Instance]) -> list[Instance] | None:
    """Return the instances of which z3, which knows what equality is, needs each for a contradiction.

    None if there is none: cvc5 may have meant several things by the constants that it has made up.
    """
    every = list(dict.fromkeys(instances))
    declared = _formulas(script).split("(assert", 1)[0]
    ground = [f"(assert {_in_smtlib(script.universals[number - 1].of(terms))})" for number, terms in every]
    parsed = load().Solver(ctx=load().Context())
    parsed.from_string(declared + "\n".join(ground))
    if parsed.check() != load().unsat:
        return None
    return [every[index] for index in _core([[each] for each in parsed.assertions()], [])]


def _core(groups: Sequence[Sequence[Any]], always: Sequence[Any]) -> list[int]:
    """Return the numbers of the groups of formulas that contradict each other, with those that are always there."""
    z3 = load()
    context = (groups[0][0] if groups else always[0]).ctx
    solver = z3.Solver(ctx=context)
    solver.set("core.minimize", True)
    solver.add(*always)
    for number, group in enumerate(groups):
        solver.assert_and_track(z3.And(*group), z3.Bool(f"group {number}", context))
    assert solver.check() == z3.unsat, "the instances contradict each other"
    used = {str(each) for each in solver.unsat_core()}
    return [number for number in range(len(groups)) if f"group {number}" in used]


def _with_axioms(script: Script, instances: Sequence[Instance]) -> list[str]:
    """Return the lines for the instances, and for the axioms of equality that the contradiction needs."""
    z3 = load()
    lines = [" ".join(["instance", str(number), *map(written, terms)]) for number, terms in instances]
    clauses, context = Clauses(script), z3.Context()
    solver, own, always = z3.Solver(ctx=context), [], []

    def formula(clause: Sequence[int]) -> Any:
        return z3.Or(
            [z3.Bool(str(n), context) if n > 0 else z3.Not(z3.Bool(str(-n), context)) for n in clause], context
        )

    waiting = lines
    while True:
        for line in waiting:
            before = len(clauses.clauses)
            refutation.take(clauses, line)
            new = clauses.clauses[before:]
            # The meaning of a compound formula is the same for all lines that it is in.
            compound = {-number for formula, number in clauses.numbers.items() if formula[0] in ("and", "or")}
            own.append([formula(each) for each in new if each[0] not in compound])
            always += [formula(each) for each in new if each[0] in compound]
            solver.add(*map(formula, new))
        if solver.check() == z3.unsat:
            return [lines[index] for index in _core(own, always)]
        model = solver.model()
        true = [f for f, n in clauses.numbers.items() if z3.is_true(model.eval(z3.Bool(str(n), context), True))]
        waiting = list(_broken_axioms(list(clauses.numbers), true))
        assert waiting, "the instances alone are a contradiction"
        lines += waiting


def _broken_axioms(formulas: Iterable[Expression], true: Iterable[Expression]) -> Iterator[str]:
    """Yield the axioms of equality that are broken where these formulas are true, and the others are false."""
    equal: defaultdict[Expression, set[Expression]] = defaultdict(set)
    holds = set(true)
    for each in holds:
        if each[0] == "=":
            equal[each[1]].add(each[2])
            equal[each[2]].add(each[1])
    for middle, others in sorted(equal.items(), key=lambda each: written(each[0])):
        for one, other in combinations(sorted(others, key=written), 2):
            if other not in equal[one]:
                yield f"transitive {written(one)} {written(middle)} {written(other)}"
    atoms = [each for each in formulas if each[0] not in ("and", "or")]
    relations = [each for each in atoms if each[0] != "="]
    terms = dict.fromkeys(term for each in atoms for term in _applications(each[1:]))
    for one, other in combinations([*relations, *terms], 2):
        if one[0] != other[0] or one == other:
            continue
        same = (one in holds) is (other in holds) if one in relations else other in equal[one]
        if not same and all(a == b or b in equal[a] for a, b in zip(one[1:], other[1:], strict=True)):
            yield f"congruent {written(one)} {written(other)}"


def _applications(terms: Iterable[Expression]) -> Iterator[Expression]:
    """Yield the terms in these that have arguments."""
    for each in terms:
        if not isinstance(each, str):
            yield each
            yield from _applications(each[1:])


def _lemmas(script: Script, lines: Sequence[str]) -> Iterator[str]:
    """Yield lemmas by which the clauses of these lines are refuted, the last one empty.

    If there are too many, others, for which it looks ahead at every case.
    """
    lemmas = [*islice(_refuted(_clauses(script, lines), [], _literal_to_split_on), MANY)]
    if lemmas[-1]:
        lemmas = [*_refuted(_clauses(script, lines), [], _literal_looked_ahead)]
    for lemma in lemmas:
        yield " ".join(["lemma", *map(str, lemma)])


def _clauses(script: Script, lines: Iterable[str]) -> Clauses:
    clauses = Clauses(script)
    for line in lines:
        refutation.take(clauses, line)
    return clauses


def _refuted(
    clauses: Clauses, case: list[int], chosen: Callable[[Clauses, list[int], set[int]], int]
) -> Iterator[list[int]]:
    """Yield lemmas until one says that the case, which is literals taken to be true, is impossible.

    `chosen` names the literal by which a case is split. The clauses get the lemmas, too.
    """
    while (true := clauses.propagated(case)) is not None:
        yield from _refuted(clauses, [*case, chosen(clauses, case, true)], chosen)
    for literal in list(case):
        fewer = [each for each in case if each != literal]
        if clauses.propagated(fewer) is None:
            case = fewer
    lemma = [-literal for literal in case]
    clauses.add(lemma)
    yield lemma


def _literal_looked_ahead(clauses: Clauses, case: list[int], true: set[int]) -> int:
    """Return a literal that is impossible in this case by unit propagation; else the one that has most follow."""
    shortest = _shortest_open(clauses, true)
    best, most = 0, -1
    for literal in dict.fromkeys(each for clause in shortest for one in clause for each in (one, -one)):
        follows = clauses.propagated([*case, literal])
        if follows is None:
            return literal
        if len(follows) > most:
            best, most = literal, len(follows)
    return best


def _literal_to_split_on(clauses: Clauses, case: list[int], true: set[int]) -> int:
    """Return the literal that is in most of the shortest clauses that are open."""
    counts = Counter(literal for clause in _shortest_open(clauses, true) for literal in clause)
    return max(counts, key=lambda literal: (counts[literal], -abs(literal), literal))


def _shortest_open(clauses: Clauses, true: set[int]) -> list[list[int]]:
    """Return the shortest clauses that are open, without the literals that are false."""
    open_ones = [
        [literal for literal in clause if -literal not in true] for clause in clauses.clauses if true.isdisjoint(clause)
    ]
    shortest = min(map(len, open_ones))
    return [clause for clause in open_ones if len(clause) == shortest]

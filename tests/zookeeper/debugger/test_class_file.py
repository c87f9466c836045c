"""Class files: what is read from one, and that a damaged one is told."""

import struct

import pytest

from tests.zookeeper.debugger.assembled import GOTO, IFEQ, INTERFACE, RETURN, SPECIAL, STATIC, VIRTUAL, Assembler, Made
from zabcheck.zookeeper.debugger.class_file import Call, ClassFileError, Method, read_class

NOP = b"\x00"


def only_method(assembler: Assembler, made: Made) -> Method:
    """The method of a class that has but one."""
    [method] = read_class(assembler.finished("p/Class", [made])).methods
    return method


def test_calls_of_every_kind_with_their_places() -> None:
    assembler = Assembler()
    calls = [
        assembler.call(operation, "p/Other", name)
        for operation, name in [(VIRTUAL, "a"), (SPECIAL, "b"), (STATIC, "c"), (INTERFACE, "d")]
    ]
    method = only_method(assembler, Made("m", NOP + b"".join(calls) + RETURN, "(J)V"))
    assert (method.name, method.descriptor, method.length) == ("m", "(J)V", 16)
    assert method.calls == (
        Call(1, 4, "p/Other", "a"),
        Call(4, 7, "p/Other", "b"),
        Call(7, 10, "p/Other", "c"),
        Call(10, 15, "p/Other", "d"),
    )


def test_a_call_is_found_behind_instructions_of_every_length() -> None:
    assembler = Assembler()
    call = assembler.call(VIRTUAL, "p/Other", "a")
    skipped = [
        b"\x10\xb6",  # bipush, whose operand looks like a call
        b"\x11\xb6\xb6",  # sipush
        b"\xc4\x15\xb6\xb6",  # wide iload
        b"\xc4\x84\xb6\xb6\xb6\xb6",  # wide iinc
        b"\xc5\xb6\xb6\xb6",  # multianewarray
        b"\xba\xb6\xb6\x00\x00",  # invokedynamic
        b"\x84\xb6\xb6",  # iinc
    ]
    for before in skipped:
        assert only_method(assembler, Made("m", before + call + RETURN)).calls[0].at == len(before)


@pytest.mark.parametrize("before", range(4))
def test_switches_are_aligned_and_tell_where_they_lead(before: int) -> None:
    assembler = Assembler()
    call = assembler.call(VIRTUAL, "p/Other", "a")
    padding = bytes(3 - before % 4)
    table = b"\xaa" + padding + struct.pack(">iiiii", 100, 1, 2, 40, -7)
    lookup = b"\xab" + padding + struct.pack(">iiiiii", 100, 2, 5, 40, 6, 50)
    for switch, targets in ((table, {100, 40, -7}), (lookup, {100, 40, 50})):
        method = only_method(assembler, Made("m", NOP * before + switch + call + RETURN))
        assert method.targets == {before + target for target in targets}
        assert [each.at for each in method.calls] == [before + len(switch)]


def test_branches_and_handlers_are_told() -> None:
    code = struct.pack(">Bh", IFEQ, 7) + struct.pack(">Bh", GOTO, -3) + struct.pack(">Bi", 0xC8, 5) + RETURN
    method = only_method(Assembler(), Made("m", code, handlers=[(0, 3, 11)]))
    assert method.targets == {7, 0, 11}


def test_the_line_of_an_instruction_is_that_of_the_last_entry_before_it() -> None:
    method = only_method(Assembler(), Made("m", NOP * 9 + RETURN, lines=[(6, 3), (0, 10), (4, 12)]))
    assert [method.line(index) for index in (0, 3, 4, 5, 6, 9)] == [10, 10, 12, 12, 3, 3]


def test_a_class_may_lack_lines_and_a_method_its_code() -> None:
    assert only_method(Assembler(), Made("m", RETURN, lines=None)).line(0) is None
    method = only_method(Assembler(), Made("m", None))
    assert (method.length, method.calls, method.line(0)) == (0, (), None)


def test_constants_that_take_two_numbers_are_counted_as_two() -> None:
    assembler = Assembler()
    assembler.long(2**40)
    call = assembler.call(VIRTUAL, "p/Other", "a")
    assert only_method(assembler, Made("m", call + RETURN)).calls == (Call(0, 3, "p/Other", "a"),)


def test_the_constant_numbers_of_a_class() -> None:
    found = read_class(Assembler().finished("p/Info", [], {"MAJOR": 3, "REVISION": -1}))
    assert (found.name, found.numbers) == ("p/Info", {"MAJOR": 3, "REVISION": -1})


def test_every_beginning_of_a_class_file_is_refused() -> None:
    assembler = Assembler()
    code = assembler.call(INTERFACE, "p/Other", "a") + b"\xaa\x00\x00" + struct.pack(">iiii", 0, 1, 1, 0) + RETURN
    whole = assembler.finished("p/Class", [Made("m", code, handlers=[(0, 1, 2)])], {"MAJOR": 3})
    assert read_class(whole).methods
    for size in range(len(whole) - 2):  # what comes then is not read
        with pytest.raises(ClassFileError, match="expected"):
            read_class(whole[:size])


@pytest.mark.parametrize("code", [b"\xff", b"\xb6\x7f\xff", b"\xaa", b"\xc4"])
def test_code_that_is_none_is_refused(code: bytes) -> None:
    with pytest.raises(ClassFileError, match="expected a whole class file"):
        read_class(Assembler().finished("p/Class", [Made("m", code)]))


def test_what_is_no_class_file_is_refused() -> None:
    with pytest.raises(ClassFileError, match="found something else"):
        read_class(b"PK\x03\x04 not a class")

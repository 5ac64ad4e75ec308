"""Whether a regular expression from a file can be searched in time that does not explode.

Python's matcher tries one way after another, and a pattern such as ``(?:a+)+b`` has exponentially many. A pattern is
safe here if no character could belong to two of its repeats at once:

- Two repeats in one sequence match different characters, or something that has to be there and that the first of them
  does not match stands between them.
- A repeated group begins with a character that has to be there and that no repeat inside the group matches:
  ``(?:-\\w+)*``.
- Alternatives begin with different characters, unless they are alternatives of the whole pattern.

Safe patterns take at most quadratic time in the length of a text. Some patterns that are quick are not safe by these
rules.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

LONGEST = 500  # characters of a pattern
_SAMPLE = frozenset([*range(0x250), *map(ord, "αΩжЯא字あ한٣५€–’…\u2028\u3000\u200b😀")])
_GROUPS = (ops.SUBPATTERN, ops.ATOMIC_GROUP)
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)


@dataclass
class _Atom:
    """A character of the pattern, or a repeat of one."""

    characters: frozenset[int]
    varies: bool  # whether the number of characters varies
    needed: bool  # whether at least one has to be there, in its group
    groups: frozenset[int] = field(default_factory=frozenset)  # the alternatives and repeated groups it stands in


class _Unsafe(Exception):
    pass


def is_safe(pattern: str) -> bool:
    """Whether the pattern is one of those described above."""
    if len(pattern) > LONGEST:
        return False
    try:
        tree = parser.parse(pattern)
        letters = _SAMPLE | frozenset(map(ord, pattern))
        whole = list(tree)
        branches = whole[0][1][1] if len(whole) == 1 and whole[0][0] is ops.BRANCH else [whole]
        for branch in branches:
            _check_pairs(_Reader(letters).atoms(list(branch), frozenset()))
    except (_Unsafe, re.error, RecursionError, OverflowError):
        return False
    return True


class _Reader:
    def __init__(self, letters: frozenset[int]) -> None:
        self._letters, self._n_groups = letters, 0

    def atoms(self, items: list[Any], groups: frozenset[int]) -> list[_Atom]:
        """The characters of a sequence, in order."""
        found: list[_Atom] = []
        for op, value in items:
            if op is ops.AT:
                continue
            if op in (ops.ASSERT, ops.ASSERT_NOT):
                _check_pairs(self.atoms(list(value[1]), frozenset()))
            elif op in _GROUPS:
                found += self.atoms(list(value[3] if op is ops.SUBPATTERN else value), groups)
            elif op is ops.BRANCH:
                found += self._alternatives(value[1], groups)
            elif op in _REPEATS:
                low, high, body = value
                found += self._repeat(low, high, list(body), groups)
            else:
                found.append(_Atom(self._characters(op, value), False, True, groups))
        return found

    def _repeat(self, low: int, high: int, body: list[Any], groups: frozenset[int]) -> list[_Atom]:
        while len(body) == 1 and body[0][0] in _GROUPS:
            body = list(body[0][1][3] if body[0][0] is ops.SUBPATTERN else body[0][1])
        varies = low != high
        if len(body) == 1 and body[0][0] not in (*_REPEATS, ops.BRANCH, ops.ASSERT, ops.ASSERT_NOT, ops.AT):
            return [_Atom(self._characters(*body[0]), varies, low > 0, groups)]
        own = groups
        if varies:
            self._n_groups += 1
            own = groups | {self._n_groups}
        inside = self.atoms(body, own)
        if high > 1:
            self._check_repeated(inside, own)
        if varies and inside:  # its first character decides whether the group comes, or comes once more
            return [_Atom(inside[0].characters, True, low > 0 and inside[0].needed, groups), *inside]
        return inside

    def _check_repeated(self, inside: list[_Atom], groups: frozenset[int]) -> None:
        if not inside or inside[0].varies or not inside[0].needed or inside[0].groups != groups:
            raise _Unsafe
        if any(atom.characters & inside[0].characters for atom in inside if atom.varies):
            raise _Unsafe

    def _alternatives(self, branches: list[Any], groups: frozenset[int]) -> list[_Atom]:
        seen: frozenset[int] = frozenset()
        found: list[_Atom] = []
        for branch in branches:
            self._n_groups += 1
            inside = self.atoms(list(branch), groups | {self._n_groups})
            if not inside or not inside[0].needed or inside[0].characters & seen:
                raise _Unsafe
            seen |= inside[0].characters
            found += inside
        return found

    def _characters(self, op: Any, value: Any) -> frozenset[int]:
        if op is ops.ANY:
            return self._letters
        if op is ops.LITERAL:
            return self._with_cases(frozenset([value]))
        if op is ops.NOT_LITERAL:
            return self._letters - {value}
        if op is not ops.IN:
            raise _Unsafe  # references to groups, conditions
        negated, found = False, set()
        for kind, what in value:
            if kind is ops.NEGATE:
                negated = True
            elif kind is ops.LITERAL:
                found.add(what)
            elif kind is ops.RANGE:
                found |= {letter for letter in self._letters if what[0] <= letter <= what[1]}
            else:
                found |= self._category(what)
        return self._letters - found if negated else self._with_cases(frozenset(found))

    def _category(self, which: Any) -> set[int]:
        escape = {
            ops.CATEGORY_DIGIT: r"\d", ops.CATEGORY_NOT_DIGIT: r"\D", ops.CATEGORY_SPACE: r"\s",
            ops.CATEGORY_NOT_SPACE: r"\S", ops.CATEGORY_WORD: r"\w", ops.CATEGORY_NOT_WORD: r"\W",
        }[which]  # fmt: skip
        return {letter for letter in self._letters if re.match(escape, chr(letter))}

    def _with_cases(self, letters: frozenset[int]) -> frozenset[int]:
        """With small and capital letters: the pattern may ignore case."""
        both = (chr(letter).lower() + chr(letter).upper() for letter in letters)
        return letters | {ord(letter) for pair in both for letter in pair}


def _check_pairs(atoms: list[_Atom]) -> None:
    """No two repeats of a sequence may match the same character, unless something between them keeps them apart."""
    for second, after in enumerate(atoms):
        for first, before in enumerate(atoms[:second]):
            if not (before.varies and (after.varies and before.characters & after.characters)):
                continue
            around = before.groups | after.groups
            between = atoms[first + 1 : second]
            if not any(
                atom.needed and atom.groups <= around and not atom.characters & before.characters for atom in between
            ):
                raise _Unsafe

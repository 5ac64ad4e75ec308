"""What `help` shows: every parameter in words, and the signature in lines.

In the source, a docstring says "As in `LDA`" for parameters that mean the same there. Once all estimators are imported,
such entries are replaced by those of the other docstring; what follows "As in `LDA`" is added to the parameter that it
names. "..." stands for all parameters that the docstring does not name.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

_SECTIONS = ("Parameters", "Attributes")
KINDS = {  # of parameters whose docstring leaves the type to the name
    "doc_tol": "float, optional",
    "gamma": "float",
    "inference": "str or an engine",
    "max_doc_iter": "int",
    "max_iter": "int, optional",
    "n_topics": "int",
    "prior": "{'jeffreys', 'exponential'}",
    "tol": "float",
    "words": "bool",
}
TOLD = {  # of parameters whose docstring has a type alone
    "doc_tol": "A document is done once its topic shares change by less.",
    "max_doc_iter": "Iterations over a document at most.",
    "max_regions": "The most regions there may be.",
}
_AS_IN = re.compile(r"As in `(\w+)`[.,;]?\s*")


@dataclass(frozen=True)
class Entry:
    """One or several parameters of a docstring: their names, what follows the colon, and the lines below."""

    names: tuple[str, ...]
    kind: str
    body: tuple[str, ...] = ()

    def text(self) -> str:
        head = ", ".join(self.names) + (f" : {self.kind}" if self.kind else "")
        return "\n".join([f"    {head}", *(f"        {line}".rstrip() for line in self.body)])


class LinedSignature(inspect.Signature):
    """A signature that is shown with a parameter in each line, by name and default."""

    def __str__(self) -> str:
        lines, named = [], False
        for one in self.parameters.values():
            if one.kind is one.KEYWORD_ONLY and not named:
                lines.append("*")
                named = True
            lines.append(one.name if one.default is one.empty else f"{one.name}={one.default!r}")
        return "(\n" + "".join(f"    {line},\n" for line in lines) + ")"


def finish_pages(classes: Iterable[type]) -> None:
    """Complete the docstrings and signatures of these classes."""
    known = {one.__name__: one for one in classes}
    done: dict[str, str] = {}
    for name in known:
        _complete(name, known, done)
    for name, cls in known.items():
        if done.get(name):
            cls.__doc__ = _ordered(done[name], cls)
        init = cls.__dict__.get("__init__")
        if inspect.isfunction(init):
            told = [name for entry in entries(cls.__doc__ or "", "Parameters") for name in entry.names]
            given = inspect.signature(init).parameters.values()
            init.__signature__ = LinedSignature(sorted(given, key=lambda one: _place_in(told, one)))  # type: ignore[attr-defined]


def _place_in(told: list[str], one: inspect.Parameter) -> tuple[int, int]:
    """Parameters by name stand in the order of the docstring."""
    by_name = one.kind is one.KEYWORD_ONLY and one.name in told
    return int(one.kind), told.index(one.name) if by_name else 0


def _ordered(doc: str, cls: type) -> str:
    """The parameters in the order of the signature, each with a type and a line at least."""
    start, stop = _place(doc, "Parameters")
    names = list(inspect.signature(cls).parameters)
    if start == stop or "..." in doc[start:stop]:
        return doc
    found = [one for entry in entries(doc, "Parameters") for one in _apart(entry, names)]
    found.sort(key=lambda entry: names.index(entry.names[0]) if entry.names[0] in names else len(names))
    return doc[:start] + "\n".join(entry.text() for entry in found) + "\n" + doc[stop:]


def _apart(entry: Entry, names: list[str]) -> list[Entry]:
    """An entry, or one for each name where these do not follow one another in the signature."""
    places = [names.index(name) for name in entry.names if name in names]
    together = len(places) == len(entry.names) and places == list(range(places[0], places[0] + len(places)))
    parts = [entry] if together else [replace(entry, names=(name,)) for name in entry.names]
    return [
        replace(one, kind=one.kind or KINDS.get(one.names[0], ""), body=one.body or (TOLD.get(one.names[0], ""),))
        for one in parts
    ]


def _complete(name: str, known: Mapping[str, type], done: dict[str, str]) -> str:
    """The docstring of a class without "As in"; the others that it needs are completed first."""
    if name not in done:
        doc = known[name].__doc__ or ""
        done[name] = doc  # of one that refers to itself
        for section in _SECTIONS:
            doc = _replaced(doc, section, known[name], known, done)
        done[name] = doc
    return done[name]


def _replaced(doc: str, section: str, cls: type, known: Mapping[str, type], done: dict[str, str]) -> str:
    start, stop = _place(doc, section)
    if start == stop:
        return doc
    found = entries(doc, section)
    named = {name for entry in found for name in entry.names}
    shown: list[Entry] = []
    for entry in found:
        said = " ".join(entry.body)
        other = _AS_IN.match(said)
        if other is None or other.group(1) not in known:
            shown.append(entry)
            continue
        theirs = entries(_complete(other.group(1), known, done), section)
        wanted = [name for name in entry.names if name != "..."]
        if "..." in entry.names:
            wanted += [name for name in _rest(cls, section, theirs) if name not in named]
        shown += _taken(theirs, wanted, said[other.end() :].strip(), entry.kind)
    return doc[:start] + "\n".join(entry.text() for entry in shown) + "\n" + doc[stop:]


def _rest(cls: type, section: str, theirs: list[Entry]) -> list[str]:
    """What "..." stands for: parameters of the signature, or all attributes of the other docstring."""
    if section == "Parameters":
        return list(inspect.signature(cls).parameters)
    return [name for entry in theirs for name in entry.names]


def _taken(theirs: list[Entry], wanted: list[str], remark: str, kind: str) -> list[Entry]:
    """The entries of these names, with a remark at the end of the one that it names (or of the last)."""
    found: list[Entry] = []
    for entry in theirs:
        names = tuple(name for name in entry.names if name in wanted)
        if names:
            found.append(replace(entry, names=names, kind=kind or entry.kind))
    missing = tuple(name for name in wanted if not any(name in entry.names for entry in found))
    if missing:
        found.append(Entry(missing, ""))
    if remark:
        named = [place for place, entry in enumerate(found) if any(f"`{name}`" in remark for name in entry.names)]
        place = named[0] if named else len(found) - 1
        remark = remark[0].upper() + remark[1:] if not remark.startswith("`") else remark
        lines = (*found[place].body, *wrapped(remark))
        found[place] = replace(found[place], body=lines)
    return found


def wrapped(text: str, width: int = 110) -> list[str]:
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return [*lines, line]


def entries(doc: str, section: str) -> list[Entry]:
    """The entries of a section of a docstring."""
    start, stop = _place(doc, section)
    found: list[Entry] = []
    for line in doc[start:stop].splitlines():
        if line.startswith("        ") and found:
            found[-1] = replace(found[-1], body=(*found[-1].body, line[8:]))
        elif line.strip():
            names, _, kind = line.strip().partition(" : ")
            found.append(Entry(tuple(name.strip() for name in names.split(",")), kind.strip()))
    return found


def _place(doc: str, section: str) -> tuple[int, int]:
    """Where the entries of a section begin and end."""
    head = re.search(rf"^    {section}\n    -+\n", doc, re.MULTILINE)
    if head is None:
        return 0, 0
    after = re.search(r"^\s*\n    \w[^\n]*\n    -+\n", doc[head.end() :], re.MULTILINE)
    stop = head.end() + after.start() if after else len(doc.rstrip()) + 1
    return head.end(), min(stop, len(doc))


def parameters_told(cls: object) -> set[str]:
    """The names that the docstring of a class has an entry for."""
    return {name for entry in entries(cls.__doc__ or "", "Parameters") for name in entry.names}

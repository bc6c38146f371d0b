#!/usr/bin/env python3
"""Joins Metal sources and the headers they include into one source for newLibraryWithSource, which has
no include path. `mslc --flatten` does the like where softmetal is built; this one runs on a Mac as well.

  flatten_metal.py -o OUT [--root DIR] [-I DIR]... [--depfile FILE] SOURCE...

The sources follow each other as given, each header stands where it was first included, and #line
directives keep the compiler's messages at the files' own lines (named from --root). The same input
gives the same bytes. Sources are written as separate units, so what would change meaning is refused:
a file of ours included inside #if, a header without #pragma once, sources whose #pragma METAL lines
differ. Macros that a source defines end with it.
"""
import argparse
import re
import sys
from pathlib import Path

DIRECTIVE = re.compile(r"^\s*#\s*([a-z_]+)\s*(.*?)\s*$", re.DOTALL)
TARGET = re.compile(r'^(?:"([^"]+)"|<([^>]+)>)$')
NAME = re.compile(r"[A-Za-z_]\w*")
TOKEN = re.compile(r'/\*|//|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'')


class Refused(Exception):
    """Input that cannot be joined; the text names the place and what is allowed."""


def logical_lines(text: str):
    """Yields (first line number, raw physical lines, text without comments): a line that ends in a
    backslash, or inside a block comment, goes on in the next one."""
    raw, bare, start, in_comment = [], "", 1, False
    for number, line in enumerate(text.split("\n"), 1):
        raw.append(line)
        position = 0
        while position < len(line):
            if in_comment:
                end = line.find("*/", position)
                if end < 0:
                    break
                in_comment, position = False, end + 2
                bare += " "
                continue
            token = TOKEN.search(line, position)
            bare += line[position:token.start() if token else None]
            if not token or token.group() == "//":
                break
            if token.group() == "/*":
                in_comment = True
            else:
                bare += token.group()
            position = token.end()
        if in_comment or line.endswith("\\"):
            bare = bare.removesuffix("\\") + " "
            continue
        yield start, raw, bare
        raw, bare, start = [], "", number + 1
    if raw:
        yield start, raw, bare


class Flattener:
    def __init__(self, root: Path, folders: list[Path]):
        self.root = root.resolve()
        self.folders = folders
        self.out: list[str] = []
        self.headers: list[Path] = []  # in the order in which they appear
        self.system: set[str] = set()  # already included outside any #if
        self.header_macros: dict[str, str] = {}  # name -> where it is defined

    def name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.as_posix()

    def read(self, path: Path) -> str:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Refused(f"{self.name(path)}: cannot be read: {error}") from None
        return text.replace("\r\n", "\n").removesuffix("\n")

    def find(self, wanted: str, quoted: bool, beside: Path) -> Path | None:
        for folder in ([beside] if quoted else []) + self.folders:
            if (folder / wanted).is_file():
                return (folder / wanted).resolve()
        return None

    def mark(self, line: int, path: Path) -> None:
        self.out.append(f'#line {line} "{self.name(path)}"')

    def source(self, path: Path) -> list[str]:
        """Appends a unit; returns its #pragma METAL lines."""
        defined, pragmas = {}, []
        self.file(path.resolve(), None, defined, pragmas)
        for macro, place in defined.items():
            if macro in self.header_macros:
                raise Refused(f"{place}: defines {macro}, which {self.header_macros[macro]} defines too: "
                              "a macro belongs to one file")
            self.out.append(f"#undef {macro}")
        return pragmas

    def file(self, path: Path, included_at: str | None, defined: dict[str, str], pragmas: list[str]) -> None:
        self.mark(1, path)
        once, depth = False, 0
        for number, raw, bare in logical_lines(self.read(path)):
            place = f"{self.name(path)}:{number}"
            found = DIRECTIVE.match(bare)
            word, rest = found.groups() if found else ("", "")
            blank = [""] * len(raw)
            if word in ("if", "ifdef", "ifndef"):
                depth += 1
            elif word == "endif":
                depth -= 1
            elif word == "define" and (macro := NAME.match(rest)):
                (defined if included_at is None else self.header_macros).setdefault(macro.group(), place)
            elif word == "undef":
                defined.pop(rest, None)
            elif word == "pragma" and rest.split()[:1] == ["METAL"] and included_at is None:
                pragmas.append(" ".join(rest.split()))
            elif word == "pragma" and rest == "once":
                once, raw = True, blank
            elif word == "include":
                if self.include(path, place, number, rest, depth, defined, pragmas):
                    self.mark(number + len(raw), path)
                    continue
                if depth == 0 and rest in self.system:
                    raw = blank
                elif depth == 0 and rest.startswith("<"):
                    self.system.add(rest)
                elif not rest.startswith("<"):
                    raw = blank  # a header of ours that already stands above
            self.out += raw
        if included_at is not None and not once:
            raise Refused(f"{self.name(path)}: has no #pragma once (included at {included_at})")

    def include(self, path: Path, place: str, number: int, rest: str, depth: int, defined: dict[str, str],
                pragmas: list[str]) -> bool:
        """Puts a header of ours in place; false when there is nothing to put here."""
        target = TARGET.match(rest)
        if not target:
            raise Refused(f'{place}: #include {rest}: neither "file" nor <file>')
        quoted = target.group(1) is not None
        header = self.find(target.group(1) or target.group(2), quoted, path.parent)
        if header is None:
            if quoted:
                raise Refused(f"{place}: #include {rest}: no such file beside it or in "
                              f"{', '.join(map(str, self.folders)) or 'any -I folder (none given)'}")
            return False
        if not quoted:
            raise Refused(f'{place}: #include {rest}: files of ours are included with "..."')
        if header in self.headers:
            return False
        if depth > 0:
            raise Refused(f"{place}: #include {rest} stands inside #if: in one source it is there for all "
                          "files or for none")
        self.headers.append(header)
        self.file(header, place, defined, pragmas)
        return True


def flatten(sources: list[Path], root: Path, folders: list[Path]) -> tuple[str, list[Path]]:
    """The joined source, and the headers it holds."""
    flattener = Flattener(root, folders)
    first = None
    for source in sources:
        pragmas = flattener.source(source)
        first = pragmas if first is None else first
        if pragmas != first:
            raise Refused(f"{flattener.name(source.resolve())}: #pragma {'; '.join(pragmas) or 'METAL: none'}, but "
                          f"{flattener.name(sources[0].resolve())} has {'; '.join(first) or 'none'}: "
                          "in one source they must agree")
    return "\n".join(flattener.out) + "\n", flattener.headers


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", dest="out", type=Path, required=True)
    parser.add_argument("--root", type=Path, default=Path("."), help="file names in #line start here")
    parser.add_argument("-I", dest="folders", type=Path, action="append", default=[])
    parser.add_argument("--depfile", type=Path, help="the headers, for ninja and make")
    parser.add_argument("sources", type=Path, nargs="+")
    args = parser.parse_args()
    try:
        text, headers = flatten(args.sources, args.root, args.folders)
    except Refused as refused:
        print(f"error: {refused}", file=sys.stderr)
        return 1
    args.out.write_text(text, encoding="utf-8")
    if args.depfile:
        names = [str(path).replace(" ", "\\ ") for path in headers]
        args.depfile.write_text(f"{str(args.out).replace(' ', chr(92) + ' ')}: {' '.join(names)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

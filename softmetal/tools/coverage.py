#!/usr/bin/env python3
"""coverage.py METAL_CPP_DIR LIST_METHODS [--check FILE]

Writes docs/api-coverage.md to standard output: for each class in Apple's metal-cpp headers, which of its
methods softmetal answers and which it does not. With --check, fails when FILE says something else.
"""
import re
import subprocess
import sys
from pathlib import Path

METHOD = re.compile(r"^_(?:MTL|NS)_INLINE\s[^\n;{]*?\b(MTL|NS|MTL4)::(\w+)::~?(\w+)\([^\n]*\n\{(.*?)\n\}",
                    re.MULTILINE | re.DOTALL)
SELECTOR = re.compile(r"_(?:MTL|NS)_PRIVATE_SEL\((\w+)\)")
DEFINED = re.compile(r"_(?:MTL|NS)_PRIVATE_DEF_SEL\(\s*(\w+),\s*\"([^\"]+)\"\s*\)")
BASE = re.compile(r"class (\w+) : public (?:NS::)?(?:Referencing|Copying|SecureCoding)<\s*(\w+)\s*(?:,\s*([\w:]+)\s*)?>")
ON_CLASS = re.compile(r"sendMessage(?:Safe)?<[^>]*>\(\s*_(?:MTL|NS)_PRIVATE_CLS")

# What a compute-only device does not have: one line each instead of a table of its methods.
GRAPHICS = re.compile(
    r"^MTL4|Render|Texture|Sampler|Depth|Stencil|Vertex|Tessellation|Raster|Mesh|Tile|Attachment|Drawable|"
    r"AccelerationStructure|Intersection|Motion|Curve|Geometry|BoundingBox|Indirect|Stitch|Visible|FunctionHandle|"
    r"LinkedFunctions|IO(Command|File|Compress)|Tensor|ResourceState|Sparse|Mapping|BlitPass|ComputePass|"
    r"CounterSample|Pipeline(Data|Stage|Buffer)|StageInput|Attribute|ArgumentEncoder|Argument|Pointer|Array|Struct|"
    r"Type|DynamicLibrary|ResourceView|LogContainer|FunctionLog|Library.*Stitched")


def read_headers(folder: Path) -> tuple[dict, dict]:
    """(class -> [(selector, is_class_method)], class -> base class), Objective-C names."""
    text = {path: path.read_text() for sub in ("Foundation", "Metal") for path in sorted((folder / sub).glob("*.hpp"))}
    names = dict(pair for body in text.values() for pair in DEFINED.findall(body))
    methods: dict[str, list] = {}
    bases: dict[str, str] = {}
    for path, body in text.items():
        prefix = "NS" if path.parent.name == "Foundation" else "MTL4" if path.name.startswith("MTL4") else "MTL"
        for name, _, base in BASE.findall(body):
            space, _, plain = base.rpartition("::")
            bases[prefix + name] = ((space or prefix) + plain) if base else "NSObject"
        for space, cls, _, code in METHOD.findall(body):
            for accessor in SELECTOR.findall(code)[:1]:
                if accessor in names and not accessor.startswith(("alloc", "init")):
                    entry = (names[accessor], bool(ON_CLASS.search(code)))
                    if entry not in methods.setdefault(space + cls, []):
                        methods[space + cls].append(entry)
    return methods, bases


def answered(program: str) -> set[tuple[str, str]]:
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    return {tuple(line.split(" ", 1)) for line in lines}


def classes_below(name: str, known: set[str], bases: dict) -> list[str]:
    """The classes softmetal has whose instances also have the methods of `name`."""
    found = []
    for cls in sorted(known):
        current = cls
        while current and current != name:
            current = bases.get(current)
        if current:
            found.append(cls)
    return found


def main() -> int:
    folder, program = Path(sys.argv[1]), sys.argv[2]
    methods, bases = read_headers(folder)
    have = answered(program)
    known = {cls.lstrip("+") for cls, _ in have}
    lines = ["# What of Metal's API softmetal covers", "",
             "Made by `softmetal/tools/coverage.py` from Apple's metal-cpp headers and from softmetal itself; a test",
             "compares the two. A method that is not covered stops the program with the names of class and method.", "",
             "| Class | Covered | Not covered |", "|---|---|---|"]
    absent = []
    for cls in sorted(methods):
        below = classes_below(cls, known, bases)
        if not below:
            absent.append(cls)
            continue
        yes, no = [], []
        for selector, on_class in methods[cls]:
            ok = all((("+" if on_class else "") + sub, selector) in have for sub in below)
            (yes if ok else no).append(f"`{selector}`")
        lines.append(f"| {cls} | {' '.join(sorted(yes)) or '-'} | {' '.join(sorted(no)) or '-'} |")
    lines += ["", "## Classes that softmetal does not have", ""]
    graphics = [cls for cls in absent if GRAPHICS.search(cls)]
    other = [cls for cls in absent if cls not in graphics]
    lines += ["Rendering, textures, ray tracing, tensors, Metal 4 and other parts of Metal outside plain compute: "
              + ", ".join(graphics) + ".", "", "Others: " + (", ".join(other) or "none") + "."]
    text = "\n".join(lines) + "\n"
    if "--check" in sys.argv:
        file = Path(sys.argv[sys.argv.index("--check") + 1])
        if file.read_text() != text:
            print(f"{file} is out of date; run: coverage.py METAL_CPP_DIR LIST_METHODS > {file}", file=sys.stderr)
            return 1
        return 0
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())

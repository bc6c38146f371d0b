"""tools/flatten_metal.py: one source for newLibraryWithSource out of sources and headers.

  flatten_metal_test.py [MSLC]    with softmetal's compiler, its verdict on a joined source as well
"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MSLC = None
PRAGMAS = "#pragma METAL fp math_mode(safe)\n#pragma METAL fp contract(off)\n"


class FlattenMetal(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name: str, text: str) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return name

    def run_tool(self, *arguments: str):
        return subprocess.run([sys.executable, ROOT / "tools/flatten_metal.py", "-o", "out.metal", *arguments],
                              cwd=self.folder, capture_output=True, text=True)

    def flatten(self, *arguments: str) -> str:
        done = self.run_tool(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return (self.folder / "out.metal").read_text()

    def refusal(self, *arguments: str) -> str:
        done = self.run_tool(*arguments)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertFalse((self.folder / "out.metal").exists())
        self.assertRegex(done.stderr, r"\Aerror: [^\n]+\n\Z")
        return done.stderr

    def test_puts_each_header_where_it_was_first_included(self):
        self.write("inner.h", "#pragma once\nint inner;\n")
        self.write("outer.h", '#pragma once\n#include "inner.h"\nint outer;\n')
        self.write("a.metal", '#include "outer.h"\nint a;\n')
        self.write("b.metal", '#include "inner.h"\n#include "outer.h"\nint b;\n')
        self.assertEqual(self.flatten("a.metal", "b.metal"),
                         '#line 1 "a.metal"\n'
                         '#line 1 "outer.h"\n\n'
                         '#line 1 "inner.h"\n\nint inner;\n'
                         '#line 3 "outer.h"\nint outer;\n'
                         '#line 2 "a.metal"\nint a;\n'
                         '#line 1 "b.metal"\n\n\nint b;\n')

    def test_keeps_a_system_header_once_outside_conditions(self):
        self.write("args.h", "#pragma once\n#ifdef __METAL_VERSION__\n#include <metal_stdlib>\n#else\n"
                             "#include <cstdint>\n#endif\n")
        self.write("a.metal", '#include "args.h"\n#include <metal_stdlib>\n')
        self.write("b.metal", "#include <metal_stdlib>\n#include <metal_atomic>\n")
        text = self.flatten("a.metal", "b.metal")
        self.assertEqual(text.count("#include <metal_stdlib>"), 2)  # in the condition, and once for all
        self.assertEqual(text.count("#include <metal_atomic>"), 1)
        self.assertIn('#line 1 "b.metal"\n\n#include <metal_atomic>\n', text)

    def test_keeps_the_pragmas_of_every_source(self):
        self.write("a.metal", PRAGMAS + "int a;\n")
        self.write("b.metal", "// why\n" + PRAGMAS + "int b;\n")
        self.assertEqual(self.flatten("a.metal", "b.metal").count(PRAGMAS), 2)

    def test_refuses_sources_with_different_pragmas(self):
        self.write("a.metal", PRAGMAS)
        self.write("b.metal", PRAGMAS.replace("safe", "fast"))
        self.assertIn("b.metal: #pragma METAL fp math_mode(fast)", self.refusal("a.metal", "b.metal"))
        self.write("b.metal", "int b;\n")
        self.assertIn("b.metal: #pragma METAL: none", self.refusal("a.metal", "b.metal"))

    def test_ends_macros_with_the_source_that_defines_them(self):
        self.write("common.h", "#pragma once\n#define SHARED 1\n")
        self.write("a.metal", '#include "common.h"\n#define INSTANCE(T) \\\n    T x_##T;\n#define GONE\n#undef GONE\n')
        self.write("b.metal", '#include "common.h"\n#define INSTANCE(T) T y_##T;\n')
        text = self.flatten("a.metal", "b.metal")
        self.assertIn('#undef INSTANCE\n#line 1 "b.metal"\n', text)
        self.assertTrue(text.endswith("#undef INSTANCE\n"))
        self.assertEqual(text.count("#undef GONE"), 1)
        self.assertNotIn("#undef SHARED", text)

    def test_refuses_a_macro_of_a_header_in_a_source(self):
        self.write("common.h", "#pragma once\n#define SHARED 1\n")
        self.write("a.metal", '#define SHARED 2\n#include "common.h"\n')
        self.assertIn("a.metal:1: defines SHARED, which common.h:2 defines too", self.refusal("a.metal"))

    def test_leaves_comments_alone(self):
        body = ('/* "\n#include "nothing.h"\n*/ int a; // #include "nothing.h" /*\n'
                'constant char kText[] = "/*"; // \\\n#include "nothing.h"\n')
        self.write("a.metal", body)
        self.assertEqual(self.flatten("a.metal"), '#line 1 "a.metal"\n' + body)

    def test_finds_headers_beside_the_file_then_in_the_folders(self):
        self.write("kernels/near.h", "#pragma once\nint near_one;\n")
        self.write("src/near.h", "#pragma once\nint far_one;\n")
        self.write("src/backend/far.h", '#pragma once\n#include "near.h"\n')
        self.write("kernels/a.metal", '#include "near.h"\n#include "backend/far.h"\n')
        text = self.flatten("-I", "src", "kernels/a.metal")
        self.assertIn("near_one", text)
        self.assertIn("far_one", text)

    def test_refuses_what_one_source_cannot_mean(self):
        self.write("once.h", "#pragma once\n")
        self.write("bare.h", "int bare;\n")
        for text, message in {
            '#if A\n#include "once.h"\n#endif\n': 'a.metal:2: #include "once.h" stands inside #if',
            '\n#include "bare.h"\n': "bare.h: has no #pragma once (included at a.metal:2)",
            '#include "absent.h"\n': 'a.metal:1: #include "absent.h": no such file beside it or in any -I folder',
            "#include HEADER\n": "a.metal:1: #include HEADER: neither",
        }.items():
            with self.subTest(text):
                self.write("a.metal", text)
                self.assertIn(message, self.refusal("a.metal"))
        self.assertIn("gone.metal: cannot be read", self.refusal("gone.metal"))

    def test_gives_the_same_bytes_from_any_folder(self):
        self.write("inner.h", "#pragma once\nint inner;\n")
        self.write("a.metal", '#include "inner.h"\n')
        first = self.flatten("a.metal")
        self.assertEqual(first, self.flatten("--root", str(self.folder), str(self.folder / "a.metal")))

    def test_names_the_headers_for_the_build(self):
        self.write("inner.h", "#pragma once\n")
        self.write("a.metal", '#include "inner.h"\n')
        self.flatten("--depfile", "out.d", "a.metal")
        self.assertEqual((self.folder / "out.d").read_text(), f"out.metal: {(self.folder / 'inner.h').resolve()}\n")

    def test_joins_into_one_source_that_compiles(self):
        if MSLC is None:
            self.skipTest("built without softmetal")
        self.write("args.h", "#pragma once\n#ifdef __METAL_VERSION__\n#include <metal_stdlib>\n#else\n"
                             "#include <cstdint>\n#endif\nstruct Args { uint32_t n; };\n")
        for name in ("a", "b"):
            self.write(f"{name}.metal", "// A unit.\n" + PRAGMAS + '#include <metal_stdlib>\n#include "args.h"\n'
                       f"using namespace metal;\n#define NAME {name}\n"
                       "kernel void NAME(device float* x [[buffer(0)]], constant Args& args [[buffer(1)]],\n"
                       "                 uint i [[thread_position_in_grid]]) {\n"
                       "    if (i < args.n) x[i] = fma(x[i], 2.0f, 1.0f);\n}\n")
        self.flatten("a.metal", "b.metal")
        done = subprocess.run([MSLC, "--strict", "-o", "out.smlib", "out.metal"], cwd=self.folder,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        listed = subprocess.run([MSLC, "--list", "out.smlib"], cwd=self.folder, capture_output=True, text=True)
        self.assertRegex(listed.stdout, r"(?s)\ba\b.*\bb\b")
        # A mistake is reported at the line of the file that it is in.
        self.write("b.metal", (self.folder / "b.metal").read_text().replace("fma", "wrong"))
        self.flatten("a.metal", "b.metal")
        done = subprocess.run([MSLC, "--strict", "-o", "out.smlib", "out.metal"], cwd=self.folder,
                              capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("b.metal:10:", done.stderr)


if __name__ == "__main__":
    MSLC = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else None
    unittest.main()

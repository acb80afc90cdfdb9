"""The tree checks on small made-up sources: each rule accepts what is right and sees what is not."""

import tempfile
import unittest
from pathlib import Path

import tree_checks
from source_text import blanked, functions


def lengths(text):
    return {f.name: f.lines for f in functions(text)}


class SourceText(unittest.TestCase):
    def test_blanked_keeps_lines_and_removes_literals(self):
        text = 'a("}{"); // {\n/* {\n */ b(\'{\', R"x({)")x", 1\'000);\n'
        out = blanked(text)
        self.assertEqual(out.count("\n"), text.count("\n"))
        self.assertNotIn("{", out)
        self.assertIn("1'000", out)

    def test_free_and_member_functions_are_found(self):
        text = ("namespace a {\nclass B {\n  int f() const {\n    return 1;\n  }\n  int x_ = 0;\n};\n"
                "template <class T>\nT g(\n    T t) {\n  return t;\n}\n}\n")
        self.assertEqual(lengths(text), {"f": 3, "g": 5})

    def test_constructor_with_braced_members_is_one_function(self):
        text = "A::A(int x)\n    : x_{x}, y_(1), z_{2} {\n  f();\n}\n"
        self.assertEqual(lengths(text), {"A::A": 4})

    def test_control_flow_and_lambdas_belong_to_their_function(self):
        text = "void f() {\n  if (a) {\n  }\n  auto l = [](int x) {\n    return x;\n  };\n}\nvoid g() {}\n"
        self.assertEqual(lengths(text), {"f": 7, "g": 1})

    def test_tables_and_types_are_no_functions(self):
        text = ("constexpr int kA[] = {f(1),\n 2};\nstruct S { int a = 0; };\nenum class E { x };\n"
                "inline constexpr std::array kT{\n  S{.a = f(2)},\n};\nextern \"C\" {\n}\n")
        self.assertEqual(lengths(text), {})

    def test_macros_do_not_confuse_the_braces(self):
        text = "#define M(x) \\\n  do { x\nvoid f() {\n  M(1);\n}\n"
        self.assertEqual(lengths(text), {"f": 3})

    def test_trailing_return_and_qualifiers(self):
        text = "auto f(int a) -> int {\n  return a;\n}\nint g() noexcept try {\n} catch (...) {\n}\n"
        self.assertEqual(lengths(text)["f"], 3)


class IncludeGraph(unittest.TestCase):
    def error(self, source, included):
        return tree_checks.include_error(Path(source), Path(included))

    def test_edges_of_the_design_are_accepted(self):
        for source, included in [("base/a.cc", "base/b.h"), ("transports/tcp/a.cc", "base/b.h"),
                                 ("transports/tcp/a.cc", "transports/transport.h"),
                                 ("transports/tcp/a.cc", "transports/tcp/b.h"),
                                 ("collectives/a.cc", "transports/transport.h"),
                                 ("plugin/a.cc", "transports/tcp/tcp.h"),
                                 ("perf/bench/a.cc", "compression/codec.h"),
                                 ("perf/a.cc", "base/launcher.h"), ("cli/a.cc", "plugin/b.h"),
                                 ("tests/plugin/a.cc", "cli/b.h")]:
            self.assertIsNone(self.error(source, included), (source, included))

    def test_other_edges_are_refused(self):
        for source, included in [("base/a.cc", "transports/transport.h"), ("base/a.cc", "b.h"),
                                 ("compression/a.cc", "transports/transport.h"),
                                 ("transports/tcp/a.cc", "transports/memory/b.h"),
                                 ("collectives/a.cc", "transports/tcp/tcp.h"),
                                 ("collectives/a.cc", "plugin/b.h"), ("plugin/a.cc", "cli/b.h"),
                                 ("perf/a.cc", "plugin/b.h"), ("base/a.cc", "tests/b.h")]:
            self.assertIsNotNone(self.error(source, included), (source, included))


class WholeTree(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def errors(self, check):
        return list(check(self.root))

    def test_a_clean_tree_passes_everything(self):
        self.write("base/a.h", '#pragma once\n#include "base/b.h"\nint f();\n')
        self.write("plugin/a.cc", '#include "base/a.h"\nint f() {\n  return 0;\n}\n')
        for check in tree_checks.CHECKS.values():
            self.assertEqual(self.errors(check), [])

    def test_wrong_include_is_reported_with_its_file(self):
        self.write("base/a.cc", '#include "plugin/b.h"\n')
        self.assertIn("base/a.cc", self.errors(tree_checks.check_includes)[0])

    def test_long_files_are_reported(self):
        self.write("base/a.h", "\n" * 201)
        self.write("base/a.cc", "\n" * 400)
        self.write("base/b.cc", "\n" * 401)
        self.assertEqual(len(self.errors(tree_checks.check_file_sizes)), 2)

    def test_long_function_is_reported(self):
        self.write("base/a.cc", "void f() {\n" + "  g();\n" * 59 + "}\n")
        self.assertIn("f has 61 lines", self.errors(tree_checks.check_function_lengths)[0])

    def test_many_longish_functions_are_reported(self):
        for i in range(20):
            self.write(f"base/f{i}.cc", "void f() {\n" + "  g();\n" * 45 + "}\n")
        self.assertIn("percentile", self.errors(tree_checks.check_function_lengths)[0])

    def test_getenv_is_reported_outside_base_only(self):
        self.write("base/a.cc", "x = getenv(n);\n")
        self.write("cli/a.cc", "// getenv\nx = std::getenv(n);\n")
        self.assertEqual(self.errors(tree_checks.check_environment_readers),
                         ["cli/a.cc:2: only base/ reads the environment"])

    def test_ten_macros_are_too_many(self):
        self.write("base/a.h", "".join(f"#define M{i}\n" for i in range(9)))
        self.assertEqual(self.errors(tree_checks.check_macros), [])
        self.write("base/b.h", "#define M10\n")
        self.assertEqual(len(self.errors(tree_checks.check_macros)), 1)

    def test_unfinished_marks_are_reported(self):
        self.write("docs/a.md", "text\nTO" "DO: more\n")
        self.assertIn("docs/a.md:2", self.errors(tree_checks.check_marks)[0])


if __name__ == "__main__":
    unittest.main()

"""tools/suite_ledger.py on runs that are, and are not, what the ledger says."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(sys.argv[1])


def results(*tests):
    cases = "".join(f'<testcase name="{name}" status="{status}">{inside}</testcase>'
                    for name, status, inside in tests)
    return f"<testsuite>{cases}</testsuite>"


RUN = [("Pool.A", "run", ""), ("Pool.B", "run", ""), ("All/Grid.A/1", "run", ""),
       ("Model.A", "notrun", '<skipped message="SKIP"/>')]

with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder)
    (root / "tools").mkdir()
    (root / "tests").mkdir()
    tool = root / "tools" / TOOL.name
    shutil.copy(TOOL, tool)

    def run(command, tests, configuration="release"):
        (root / "run.xml").write_text(results(*tests))
        done = subprocess.run([sys.executable, tool, command, configuration, root / "run.xml"],
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def expect(code, text, got):
        assert got[0] == code and text in got[1], f"wanted {code}, '{text}'; got {got}"

    expect(0, "the ledger has no such configuration", run("check", RUN))
    expect(0, "4 tests in 3 suites", run("write", RUN))
    expect(0, "4 tests, as in", run("check", RUN))
    expect(0, "no such configuration", run("check", RUN, "asan"))
    expect(1, "Pool.A: failed", run("check", [("Pool.A", "fail", "<failure/>")], "asan"))
    expect(1, "Pool: 1 tests, 2 in the ledger", run("check", RUN[1:]))
    expect(1, "All/Grid: 0 tests, 1 in the ledger", run("check", RUN[:2] + RUN[3:]))
    expect(1, "New: 1 tests, 0 in the ledger", run("check", RUN + [("New.A", "run", "")]))
    expect(1, "Pool.A: left out, and ran before",
           run("check", [("Pool.A", "notrun", "<skipped/>")] + RUN[1:]))
    expect(1, "Model.A: ran, and is left out in the ledger",
           run("check", RUN[:3] + [("Model.A", "run", "")]))
    expect(1, "Pool.A: failed", run("check", [("Pool.A", "fail", "<failure/>")] + RUN[1:]))
    (root / "run.xml").write_text("<testsuite>")
    broken = subprocess.run([sys.executable, tool, "check", "release", root / "run.xml"],
                            capture_output=True, text=True)
    assert broken.returncode == 1 and "no results of a test run" in broken.stderr, broken

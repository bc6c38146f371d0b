#!/usr/bin/env python3
"""Holds what a test run did against tests/ledger.json: how many tests each suite has, per configuration.

  suite_ledger.py check CONFIGURATION RESULTS.xml   compares what ran (ctest --output-junit)
  suite_ledger.py write CONFIGURATION RESULTS.xml   makes that the ledger's entry

A run differs when a suite has more or fewer tests than the ledger says, when one was left out that
used to run, or when a test failed. A configuration that the ledger does not have is said, and is no
difference. The ledger is never edited by hand.
"""
import json
import pathlib
import sys
import xml.etree.ElementTree as xml

LEDGER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "ledger.json"


def suite_of(test):
    """'Prefix/Suite.Test/param' -> 'Prefix/Suite'; a test that is no gtest is its own suite."""
    return test.split(".")[0]


def read_results(path):
    suites, left_out, failed = {}, [], []
    for case in xml.parse(path).getroot().iter("testcase"):
        name = case.get("name")
        # CTest's words: run, fail, notrun, disabled.
        skipped = case.find("skipped") is not None or case.get("status") in ("notrun", "disabled")
        if case.find("failure") is not None or case.get("status") == "fail":
            failed.append(name)
        if skipped:
            left_out.append(name)
        suites[suite_of(name)] = suites.get(suite_of(name), 0) + 1
    return {"suites": dict(sorted(suites.items())), "left_out": sorted(left_out)}, failed


def differences(known, found):
    for suite in sorted(known["suites"].keys() | found["suites"].keys()):
        before, now = known["suites"].get(suite, 0), found["suites"].get(suite, 0)
        if before != now:
            yield f"{suite}: {now} tests, {before} in the ledger"
    for test in sorted(set(found["left_out"]) - set(known["left_out"])):
        yield f"{test}: left out, and ran before"
    for test in sorted(set(known["left_out"]) - set(found["left_out"])):
        yield f"{test}: ran, and is left out in the ledger"


def main(arguments):
    if len(arguments) != 3 or arguments[0] not in ("check", "write"):
        sys.exit(__doc__)
    command, configuration, results = arguments
    try:
        found, failed = read_results(results)
    except (OSError, xml.ParseError) as error:
        sys.exit(f"{results}: no results of a test run: {error}")
    ledger = json.loads(LEDGER.read_text()) if LEDGER.exists() else {}
    total = sum(found["suites"].values())
    if command == "write":
        ledger[configuration] = found
        LEDGER.write_text(json.dumps(ledger, indent=1, sort_keys=True) + "\n")
        print(f"ledger: {configuration}: {total} tests in {len(found['suites'])} suites")
        return
    wrong = [f"{test}: failed" for test in failed]
    if configuration in ledger:
        wrong += differences(ledger[configuration], found)
    elif not wrong:
        print(f"ledger: {configuration}: {total} tests; the ledger has no such configuration")
        return
    if wrong:
        sys.exit("\n".join([f"ledger: {configuration} is not what tests/ledger.json says:", *wrong,
                            "if that is meant: tools/suite_ledger.py write "
                            f"'{configuration}' {results}"]))
    print(f"ledger: {configuration}: {total} tests, as in tests/ledger.json")


if __name__ == "__main__":
    main(sys.argv[1:])

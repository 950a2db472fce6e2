"""Runs the tests, from the directory above: `python3 -W error -m tests [NAME]...`.

A warning in a finaliser, such as one about a socket that was left open, cannot fail the test in which
it comes. So it is counted here, and fails the run.
"""

from __future__ import annotations

import faulthandler
import gc
import sys
import threading
import unittest
from typing import Any, List

complaints: List[str] = []


def note(problem: Any) -> None:
    complaints.append(f"{problem.exc_type.__name__}: {problem.exc_value}")


def main(names: List[str]) -> int:
    # A test that hangs says where.
    faulthandler.dump_traceback_later(600, exit=True)
    sys.unraisablehook = note
    threading.excepthook = note
    loader = unittest.defaultTestLoader
    suite = loader.loadTestsFromNames(names) if names else loader.discover("tests", top_level_dir=".")
    result = unittest.TextTestRunner(verbosity=1, warnings=None).run(suite)
    gc.collect()
    for complaint in complaints:
        print(f"Left behind: {complaint}", file=sys.stderr)
    return 0 if result.wasSuccessful() and result.testsRun > 0 and not complaints else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

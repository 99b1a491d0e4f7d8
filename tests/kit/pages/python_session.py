"""Run the Python blocks of one page: a process with one namespace, told of each block by a line of JSON."""

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any


def main() -> None:
    """Run blocks until standard input ends; answer each with its exit status, 0 or 1, on the first standard output."""
    answers = os.fdopen(os.dup(1), "w")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for line in sys.stdin:
        asked = json.loads(line)
        os.chdir(asked["folder"])
        os.environ.clear()
        os.environ.update(asked["environment"])
        if "docmill" in sys.modules:  # its import, in an earlier block, has set these
            sys.modules["docmill.storage.process.no_telemetry"].switch_telemetry_off()
        for descriptor, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(asked[name], os.O_WRONLY | os.O_CREAT | os.O_APPEND), descriptor)
        print(_run(asked["code"], asked["name"], namespace), file=answers, flush=True)


def _run(code: Path, name: str, namespace: dict[str, Any]) -> int:
    try:
        exec(compile(Path(code).read_text(encoding="utf-8"), name, "exec"), namespace)
    except Exception:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


if __name__ == "__main__":
    main()

"""Start: the entry point of the `docmill` command, which loads it such that Ctrl-C ends it without a traceback."""

import atexit
import gc
import os
import signal
import sys
from types import ModuleType

_INTERRUPTED = 130  # the exit status of a command that Ctrl-C has ended, also while it is at work
_FIRST_OBJECTS = 500_000
"""Objects that are made before the first look for cyclic garbage: more than a search or a run without news makes. They
are modules, all of which stay; to look for garbage among them takes 0.03 s."""
_NEW_OBJECTS = 10_000
"""Objects that are made between two later looks. With Python's 700, an ingest of a few documents takes 0.03 s more."""
_PLUGINS = "pydantic.plugin._loader"
"""What looks for plugins of pydantic. To import it takes 0.01 s, and to look through all installed packages 0.02 s."""


def main() -> None:
    """Run the command line.

    While modules load there is nothing to tidy up, so Ctrl-C ends the process at once. If SIGINT is ignored, as in the
    background of a shell, it stays so.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    _hasten()
    from docmill.flows.cli.program import loaded
    from docmill.flows.cli.terminal.output_streams import outlive_readers

    outlive_readers()

    run = loaded()
    signal.signal(signal.SIGINT, before)
    try:
        run()
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None
    finally:
        # The command is done, and what is left is to stop its processes: an interrupt of that would show a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _hasten() -> None:
    """Leave out what takes time at the start and in the end of a process, and what no command needs."""
    gc.set_threshold(_FIRST_OBJECTS)
    gc.callbacks.append(_look_often)
    atexit.register(gc.freeze)  # a last look at what all modules hold takes 0.1 s, and frees nothing
    if os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1") == "1":
        none = ModuleType(_PLUGINS)
        vars(none)["get_plugins"] = tuple
        sys.modules.setdefault(_PLUGINS, none)
    from docmill.storage.process.methods_on_demand import compile_on_demand

    compile_on_demand()


def _look_often(*_: object) -> None:
    """Look for garbage as often as usual from now on; called at the first look."""
    gc.callbacks.remove(_look_often)
    gc.set_threshold(_NEW_OBJECTS)


if __name__ == "__main__":
    main()

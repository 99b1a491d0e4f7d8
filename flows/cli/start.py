"""Start: the entry point of the `docmill` command. Ctrl-C ends the command without a traceback while it loads, too."""

import atexit
import gc
import os
import signal
import sys
from types import ModuleType

_INTERRUPTED = 130  # the exit status of a command that Ctrl-C has ended
_FIRST_OBJECTS = 500_000
"""Objects created before the first garbage collection: more than a search or a run without changes creates. They are
parts of modules, which all stay, and collecting them takes 0.03 s."""
_NEW_OBJECTS = 10_000
"""Objects created between later collections. With Python's default of 700, a small ingest takes 0.03 s longer."""
_PLUGINS = "pydantic.plugin._loader"
"""The module that searches for plugins of pydantic. Its import takes 0.01 s, and the search in all packages 0.02 s."""


def main() -> None:
    """Run the command line.

    While modules load there is nothing to clean up, so Ctrl-C ends the process at once. If SIGINT is ignored, as in the
    background of a shell, it stays ignored.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    _hasten()
    from docmill.flows.cli.program import loaded
    from docmill.flows.cli.terminal.output_streams import end_if_full, outlive_readers

    outlive_readers()

    run = loaded()
    signal.signal(signal.SIGINT, before)
    try:
        run()
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None
    except OSError as error:
        end_if_full(error)
        raise
    finally:
        # The command is done and only stops its processes, where an interrupt would show a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _hasten() -> None:
    """Disable what takes time at the start and end of a process and no command needs."""
    gc.set_threshold(_FIRST_OBJECTS)
    gc.callbacks.append(_look_often)
    atexit.register(gc.freeze)  # a last collection takes 0.1 s and frees nothing
    if os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1") == "1":
        none = ModuleType(_PLUGINS)
        vars(none)["get_plugins"] = tuple
        sys.modules.setdefault(_PLUGINS, none)
    from docmill.storage.process.methods_on_demand import compile_on_demand

    compile_on_demand()


def _look_often(*_: object) -> None:
    """Collect garbage regularly from now on; called at the first collection."""
    gc.callbacks.remove(_look_often)
    gc.set_threshold(_NEW_OBJECTS)


if __name__ == "__main__":
    main()

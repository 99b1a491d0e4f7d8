"""Start: the entry point of the `docmill` command, which loads it such that Ctrl-C ends it without a traceback."""

import atexit
import gc
import os
import signal

_INTERRUPTED = 130  # the exit status of a command that Ctrl-C has ended, also while it is at work
_NEW_OBJECTS = 10_000
"""Objects that are made between two looks for cyclic garbage. With Python's 700, loading modules takes 0.03 s more."""


def main() -> None:
    """Run the command line.

    While modules load there is nothing to tidy up, so Ctrl-C ends the process at once. If SIGINT is ignored, as in the
    background of a shell, it stays so.
    """
    gc.set_threshold(_NEW_OBJECTS)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")  # to look for some reads all installed packages: 20 ms
    atexit.register(gc.freeze)  # a last look at what all modules hold takes 0.1 s, and frees nothing
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from docmill.flows.cli.program import loaded

    run = loaded()
    signal.signal(signal.SIGINT, before)
    try:
        run()
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None
    finally:
        # The command is done, and what is left is to stop its processes: an interrupt of that would show a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    main()

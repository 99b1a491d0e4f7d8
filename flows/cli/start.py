"""Start: the entry point of the `docmill` command, which loads it such that Ctrl-C ends it without a traceback."""

import signal

_INTERRUPTED = 130  # the exit status of a command that Ctrl-C has ended, also while it is at work


def main() -> None:
    """Run the command line.

    While modules load there is nothing to tidy up, so Ctrl-C ends the process at once. If SIGINT is ignored, as in the
    background of a shell, it stays so.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from docmill.flows.cli.app import main as run

    signal.signal(signal.SIGINT, before)
    try:
        run()
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None


if __name__ == "__main__":
    main()

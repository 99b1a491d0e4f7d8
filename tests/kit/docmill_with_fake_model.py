"""Run the command line with the fake model whose files lie in the folder that is the first argument.

With the variable SLOW, each call of the model takes so many seconds, and begins with a file in the folder MARK. With
STUCK, NAME=SECONDS, the process waits at the boundary of that name, which begins with a file, too. EVERY says after
how many seconds a line of progress follows another where there is no terminal; without it there is none.
"""

import signal
import sys
from pathlib import Path

MARK, SLOW, STUCK, EVERY = "TEST_OF_MARK", "TEST_OF_SLOW", "TEST_OF_STUCK", "TEST_OF_EVERY"

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # while it loads, Ctrl-C ends it in silence, as it ends docmill
    from docmill.flows.cli.start import main
    from tests.kit.faults.slow_model import install

    install(Path(sys.argv.pop(1)))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main()

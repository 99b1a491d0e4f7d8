"""Run the command line with the fake model whose files lie in the folder that is the first argument."""

import sys
from pathlib import Path

from docmill.flows.cli.app import main
from docmill.storage.embedding import encoder, space
from tests.kit import fake_encoder

if __name__ == "__main__":
    folder = Path(sys.argv.pop(1))
    space.FOLDERS[fake_encoder.NAME] = lambda: folder
    encoder.LOADERS[fake_encoder.NAME] = fake_encoder.TokenCounts
    main()

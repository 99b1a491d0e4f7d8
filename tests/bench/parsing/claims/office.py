"""LibreOffice as a second program: it writes documents, and says what it shows of those of others."""

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

_SECONDS = 300  # for all documents of one call: a start takes some seconds, a document a tenth


def converted(files: Mapping[str, bytes], form: str, reader: str = "") -> dict[str, bytes]:
    """Return files by their names without suffix in another form, such as "pdf"; none without LibreOffice."""
    program = shutil.which("soffice")
    if program is None:
        return {}
    with tempfile.TemporaryDirectory() as name:
        folder, made = Path(name, "in"), Path(name, "out")
        folder.mkdir()
        for file, data in files.items():
            (folder / file).write_bytes(data)
        command = [program, f"-env:UserInstallation=file://{name}/profile", "--headless"]
        command += [f"--infilter={reader}"] if reader else []
        command += ["--convert-to", form, "--outdir", str(made), *sorted(map(str, folder.iterdir()))]
        subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS)
        return {path.stem: path.read_bytes() for path in made.iterdir()}

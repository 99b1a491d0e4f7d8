"""Replies: what a model said to each prompt, kept by content as soon as it is paid for, so that none is asked twice.

They lie in `cache/replies`, apart from what a snapshot names: a run that fails keeps what it paid for. The key
is of the prompt, which holds its own instructions, and of the model.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from storage.artifacts import Packs
from storage.errors import ConfigError, DocmillError
from storage.files import TEMPORARY
from storage.keys import key_of
from tasks.model.completion import Model, ModelOptions, Reply, Usage, load_model
from tasks.split.lookup import Prompt

FOLDER = "cache/replies"
LONGEST_REPLY = 2048
_COLUMNS = pa.schema(
    [("key", pa.string()), ("text", pa.string()), ("whole", pa.bool_())]
    + [(name, pa.int64()) for name in ("input", "cached", "output")]
)


@dataclass(frozen=True, slots=True)
class Asking:
    """Which model is asked, the pack that gets its replies, and whether calls may be made at all."""

    model: ModelOptions
    target: Path
    calls: bool = True


@dataclass(frozen=True, slots=True)
class Spent:
    """What the model was asked, or would be: calls, those that failed, and tokens."""

    calls: int = 0
    failed: int = 0
    usage: Usage = field(default_factory=Usage)

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.calls + other.calls, self.failed + other.failed, self.usage + other.usage)


def model_key(model: ModelOptions) -> str:
    """Return the key of what decides a reply besides the prompt."""
    return key_of("model", model.provider, model.model)


def replies_to(prompts: Sequence[Prompt], asking: Asking) -> tuple[dict[Prompt, str], Spent]:
    """Return the replies that are to be had, and what they cost now; one that is not whole is empty.

    Without `asking.calls` only those are returned that were paid for before, and what the others would cost
    is estimated, at four characters a token. A call that fails leaves its prompt out.
    """
    distinct = list(dict.fromkeys(prompts))
    keys = {prompt: key_of("reply", model_key(asking.model), list(prompt)) for prompt in distinct}
    packs = Packs(sorted(asking.target.parent.glob("[!.]*.parquet")))
    missing = packs.missing(list(keys.values()))
    known = [prompt for prompt in distinct if keys[prompt] not in missing]
    rows = packs.take([keys[prompt] for prompt in known]).to_pylist() if known else []
    found = {prompt: row["text"] if row["whole"] else "" for prompt, row in zip(known, rows, strict=True)}
    unknown = [prompt for prompt in distinct if keys[prompt] in missing]
    if not unknown or not asking.calls:
        return found, Spent(len(unknown), 0, Usage(sum(len(part) for prompt in unknown for part in prompt) // 4))
    fresh = _ask(unknown, asking.model)
    _write(asking.target, [(keys[prompt], reply) for prompt, reply in fresh.items()])
    usage = sum((reply.usage for reply in fresh.values()), Usage())
    found |= {prompt: reply.text if reply.whole else "" for prompt, reply in fresh.items()}
    return found, Spent(len(unknown), len(unknown) - len(fresh), usage)


def _ask(prompts: Sequence[Prompt], options: ModelOptions) -> dict[Prompt, Reply]:
    model = load_model(options)
    with ThreadPoolExecutor(options.max_concurrency, "docmill-model") as threads:
        replies = threads.map(lambda prompt: _reply(model, prompt), prompts)
        return {prompt: reply for prompt, reply in zip(prompts, replies, strict=True) if reply is not None}


def _reply(model: Model, prompt: Prompt) -> Reply | None:
    try:
        return model.complete(prompt, LONGEST_REPLY)
    except ConfigError:
        raise
    except DocmillError:
        return None


def _write(target: Path, replies: Sequence[tuple[str, Reply]]) -> None:
    rows = [(key, r.text, r.whole, r.usage.input, r.usage.cached, r.usage.output) for key, r in replies]
    if rows:
        target.parent.mkdir(parents=True, exist_ok=True)
        taken = len(list(target.parent.glob(f"{target.stem}*")))
        target = target.with_stem(f"{target.stem}-{taken}") if taken else target
        parts = zip(zip(*rows, strict=True), _COLUMNS.types, strict=True)
        columns = [pa.array(column, kind) for column, kind in parts]
        draft = target.with_name(TEMPORARY + target.name)
        pq.write_table(pa.table(columns, schema=_COLUMNS), draft)
        draft.replace(target)

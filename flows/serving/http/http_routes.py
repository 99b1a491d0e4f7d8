"""HTTP routes: the paths of `docmill serve`, each a question to a store. They run in parallel threads.

Requests are checked, and described for OpenAPI.
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any, cast

from fastapi import APIRouter, HTTPException, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict
from starlette.convertors import PathConvertor, register_url_convertor

from docmill.flows.serving import answers
from docmill.flows.serving.answers import AskedChunk, AskedPage, AskedSearch, Searching
from docmill.flows.serving.http.metrics import Metrics
from docmill.flows.serving.json_response import as_json
from docmill.flows.serving.open_stores import SEES_ALL, OpenStores, ServedStore, asked_store
from docmill.storage.errors import QueryError
from docmill.storage.search.rank.candidates.search_options import LONGEST_QUERY, Fusion, Mode, SearchArguments
from docmill.storage.snapshots.read.document import SHOWN_TYPES
from docmill.storage.snapshots.read.stored_documents import row_of

LONGEST = 20_000
"""The most characters of a condition or a statement."""
MOST, MOST_OF_ALL = 200_000, 5_000_000
"""The default limit of an answer in characters, and the highest limit that a client may set."""

_NOT_OPTIONS = {"query", "k", "mode", "where", "at", "store", "max_characters", "typing"}
_A_SEARCH: JsonDict = {"query": "how long does the battery last without sun?", "k": 3, "where": "format = 'markdown'"}
_A_JUDGEMENT: JsonDict = {"query": "undo a commit", "uri": "git.md", "quotation": "reset the branch", "by": "Ada"}
_A_STATEMENT: JsonDict = {"query": "SELECT format, count(*) AS files FROM documents GROUP BY ALL ORDER BY files DESC"}

StoreName = Annotated[
    str | None, Query(alias="store", max_length=200, description="Name of a served store; else the first.")
]
At = Annotated[
    str | None, Query(max_length=200, description="Number or tag of a snapshot; else the newest.", examples=["41"])
]
Most = Annotated[int, Query(alias="max_characters", ge=1000, le=MOST_OF_ALL, description="Characters of the answer.")]
Where = Annotated[str | None, Query(max_length=LONGEST, description="SQL condition on columns of documents.")]
Uri = Annotated[str, Path(description="Name of a document; slashes need no escaping.", examples=["git.md"])]
ChunkId = Annotated[
    str, Path(description="Id of a chunk: 32 hex digits.", examples=["0b5c7a3e9d2f48615c0e7a9b3d1f2468"])
]
JudgementId = Annotated[
    str, Path(max_length=32, description="Id of a judgement.", examples=["0b5c7a3e9d2f48615c0e7a9b3d1f2468"])
]
FigureKey = Annotated[
    str, Path(description="Key of a figure: 32 hex digits.", examples=["f78f2962db408065978c900177515a57"])
]
Earlier = Annotated[str, Path(description="Number or tag of the earlier snapshot.", examples=["1"])]
Later = Annotated[str, Path(description="Number or tag of the later snapshot.", examples=["2"])]


class SearchQuestion(BaseModel):
    """A search. Omitted values are those of the server's settings."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_A_SEARCH]})

    query: str = Field(max_length=LONGEST_QUERY, description="The question, in words.")
    k: int = Field(default=5, ge=1, le=1000, description="How many hits to return at most.")
    mode: Mode = Field(default="hybrid", description="The rankings that the search uses.")
    where: str | None = Field(default=None, max_length=LONGEST, description="SQL condition on chunks and documents.")
    at: int | str | None = Field(default=None, description="Number or tag of a snapshot; else the newest.")
    store: str | None = Field(default=None, max_length=200, description="Name of a served store; else the first.")
    max_characters: int = Field(default=MOST, ge=1000, le=MOST_OF_ALL, description="Characters of the answer.")
    weight: float | None = Field(default=None, ge=0, le=1, description="Weight of vectors in a weighted fusion.")
    fusion: Fusion | None = Field(default=None, description="How both rankings are merged.")
    cover: float | None = Field(default=None, ge=0, le=1, description="What the words of its document's cover add.")
    spread: float | None = Field(default=None, ge=0, le=1, description="Share of its neighbours' scores for a chunk.")
    lift: float | None = Field(default=None, ge=0, le=1, description="Share of its document's best score for a chunk.")
    candidates: int | None = Field(default=None, ge=1, le=2000, description="Candidates of each index.")
    distinct: bool | None = Field(default=None, description="Whether to drop hits that repeat a better one.")
    diversity: float | None = Field(default=None, ge=0, le=1, description="Weight of difference from better hits.")
    widen: int | None = Field(default=None, ge=0, le=4000, description="Tokens up to which a hit grows; 0 is off.")
    passages: int | None = Field(
        default=None, ge=0, le=20_000, description="Tokens for the sentences that answer, over all hits; 0 is off."
    )
    min_confidence: float | None = Field(default=None, ge=0, le=1, description="Least confidence of a hit.")
    language: str | None = Field(default=None, max_length=35, description="Language of the query, such as de.")
    parents: bool | None = Field(default=None, description="Whether to return the parent of each chunk, once.")
    typing: bool = Field(default=False, description="The query is not complete, so it is not logged.")

    def how(self, settings: SearchArguments) -> SearchArguments:
        """Return the options of the search: the client's own, and otherwise those of the settings."""
        own = self.model_dump(exclude=_NOT_OPTIONS, exclude_none=True)
        merged: dict[str, Any] = {**settings, **own}
        return cast(SearchArguments, merged)


class JudgementQuestion(BaseModel):
    """What a person says of an answer: of a chunk, of a quoted passage of a document, or that none is right."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_A_JUDGEMENT]})

    query: str = Field(max_length=LONGEST_QUERY, description="The query that was answered.")
    chunk_id: str = Field(default="", max_length=32, description="The chunk that is judged, such as that of a hit.")
    relevant: bool = Field(default=True, description="Whether it answers; false without a passage: nothing does.")
    by: str = Field(default="", max_length=200, description="Name of the person who judges; it is not checked.")
    uri: str = Field(default="", max_length=4000, description="The document of a quoted passage that is no chunk.")
    quotation: str = Field(default="", max_length=4000, description="The words of the document that answer.")
    note: str = Field(default="", max_length=2000, description="Why it was judged so.")
    at: int | str | None = Field(default=None, description="Number or tag of the snapshot that was judged.")
    store: str | None = Field(default=None, max_length=200, description="Name of a served store; else the first.")


class StatementQuestion(BaseModel):
    """One SELECT."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_A_STATEMENT]})

    query: str = Field(max_length=LONGEST, description="One SELECT in the SQL of DuckDB; it can read the store alone.")
    max_rows: int = Field(default=1000, ge=1, le=100_000, description="How many rows to return at most.")
    seconds: float = Field(default=20, gt=0, le=60, description="How long the statement may run.")
    at: int | str | None = Field(default=None, description="Number or tag of a snapshot; else the newest.")
    store: str | None = Field(default=None, max_length=200, description="Name of a served store; else the first.")
    max_characters: int = Field(default=MOST, ge=1000, le=MOST_OF_ALL, description="Characters of the answer.")


class Failure(BaseModel):
    """What went wrong, in the form of `--json`."""

    kind: str = Field(description="A class of `docmill.errors`, or UsageError.")
    message: str
    retry: bool = Field(description="Whether the same request may work later.")
    status: int


class FailureAnswer(BaseModel):
    """The answer to a request that failed."""

    error: Failure


class StoreAnswer(BaseModel):
    """An answer: where it comes from, and what the path adds."""

    model_config = {"extra": "allow"}

    store: str
    snapshot: int


_FAILURES: dict[int | str, dict[str, Any]] = {
    400: {"description": "The question cannot be answered.", "model": FailureAnswer},
    401: {"description": "The token is missing or wrong.", "model": FailureAnswer},
    403: {"description": "Pages of this origin may not ask.", "model": FailureAnswer},
    404: {"description": "There is no such path, document, chunk, snapshot or store.", "model": FailureAnswer},
    405: {"description": "The path takes other methods, which `Allow` lists.", "model": FailureAnswer},
    408: {"description": "The request did not arrive in time.", "model": FailureAnswer},
    413: {"description": "The request is too large.", "model": FailureAnswer},
    421: {"description": "The server has another name.", "model": FailureAnswer},
    422: {"description": "The request is malformed.", "model": FailureAnswer},
    429: {"description": "Too many requests of this client wait.", "model": FailureAnswer},
    500: {"description": "The store is damaged; see `docmill verify`.", "model": FailureAnswer},
    503: {"description": "Try again later.", "model": FailureAnswer},
}
_PICTURE = {"content": {one: {"schema": {"type": "string", "format": "binary"}} for one in SHOWN_TYPES}}
_PICTURE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",  # in case a browser does not treat it as a picture
    "Content-Disposition": "inline",
    "Cache-Control": "private, max-age=31536000, immutable",  # the key is made from the content
}
_PLAIN = {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Metrics for Prometheus."}


class _AnyPath(PathConvertor):
    """A part of a path that may have slashes, and line breaks, which are allowed in file names."""

    regex = "(?s:.*)"


register_url_convertor("any_path", _AnyPath())


class HttpRoutes:
    """The paths over the served stores."""

    def __init__(self, stores: OpenStores, searching: Searching, metrics: Metrics, judging: bool = False) -> None:
        self._judging = judging
        self._stores = stores
        self._searching = searching
        self._metrics = metrics

    def router(self) -> APIRouter:
        """Return the routes."""
        router = APIRouter(redirect_slashes=False, responses=_FAILURES)
        for method, path, answer in (
            ("POST", "/search", self.search),
            ("GET", "/documents", self.documents),
            ("GET", "/documents/{uri:any_path}", self.document),
            ("GET", "/chunks/{chunk_id}", self.chunk),
            ("GET", "/facets/{name}", self.facets),
            ("POST", "/sql", self.sql),
            ("GET", "/snapshots", self.snapshots),
            ("GET", "/diff/{old}/{new}", self.diff),
            ("GET", "/status", self.status),
            ("GET", "/queries", self.queries),
            ("GET", "/gaps", self.gaps),
            ("GET", "/replay/{old}/{new}", self.replay),
            ("GET", "/judgements", self.judgements),
            ("POST", "/judgements", self.judge),
            ("POST", "/judgements/{judgement_id}/withdrawn", self.withdraw),
        ):
            router.add_api_route(path, answer, methods=[method], response_model=StoreAnswer)
        router.add_api_route(
            "/figures/{key}", self.figure, methods=["GET"], response_class=Response, responses={200: _PICTURE}
        )
        router.add_api_route("/healthz", self.healthz, methods=["GET"], response_model=dict[str, str])
        router.add_api_route(
            "/metrics", self.metrics, methods=["GET"], response_class=Response, responses={200: _PLAIN}
        )
        return router

    def search(self, asked: SearchQuestion) -> Response:
        """Find the chunks that answer a question best: hits as `docmill search --json` prints them."""
        served = self._at(asked.store, asked.at)
        self._metrics.searched(served.name, asked.mode)
        own = self._searching
        notes, kept = (None, None) if asked.typing else (own.notes, own.kept)
        how = Searching(asked.how(own.how), own.rewrite, notes, kept)
        question = AskedSearch(asked.query, asked.k, asked.mode, asked.where, how, asked.max_characters)
        return as_json(answers.found(served, question))

    def documents(
        self,
        where: Where = None,
        prefix: Annotated[str, Query(max_length=4000, description="Only uris that begin with this.")] = "",
        after: Annotated[str, Query(max_length=4000, description="`next` of the page before.")] = "",
        limit: Annotated[int, Query(ge=1, le=10_000, description="How many documents to return at most.")] = 100,
        at: At = None,
        store: StoreName = None,
        most: Most = MOST,
    ) -> Response:
        """List documents by uri, without their texts, a page at a time."""
        asked = AskedPage(where, prefix, after, limit, most)
        return as_json(answers.documents(self._at(store, at), asked))

    def document(
        self,
        uri: Uri,
        start_char: Annotated[int, Query(ge=0, description="Offset at which to start.")] = 0,
        end_char: Annotated[int | None, Query(ge=0, description="Offset before which to stop.")] = None,
        at: At = None,
        store: StoreName = None,
        most: Most = MOST,
    ) -> Response:
        """Read a document as Markdown, whole or from one offset to another."""
        served = self._at(store, at)
        _there(lambda one: row_of(served.store, one), uri)
        return as_json(answers.document(served, uri, start_char, end_char, most))

    def chunk(
        self,
        chunk_id: ChunkId,
        before: Annotated[int, Query(ge=0, le=1000, description="Chunks before it to return.")] = 0,
        after: Annotated[int, Query(ge=0, le=1000, description="Chunks after it to return.")] = 0,
        parent: Annotated[bool, Query(description="Whether to return the chunk that contains it.")] = False,
        at: At = None,
        store: StoreName = None,
        most: Most = MOST,
    ) -> Response:
        """Read a chunk, with the chunks around it if asked."""
        asked = AskedChunk(chunk_id, before, after, parent, most)
        return as_json(_there(lambda _: answers.chunk(self._at(store, at), asked), chunk_id))

    def facets(
        self,
        name: Annotated[str, Path(max_length=200, description="Key of [metadata], or a column such as format.")],
        query: Annotated[str | None, Query(max_length=20_000, description="Count only its 100 best hits.")] = None,
        where: Where = None,
        at: At = None,
        store: StoreName = None,
        most: Most = MOST,
    ) -> Response:
        """Count the documents, and their chunks, of each value of a key of `[metadata]`."""
        return as_json(answers.facets(self._at(store, at), name, query, where, most))

    def figure(self, key: FigureKey, at: At = None, store: StoreName = None) -> Response:
        """Return the picture of a figure: PNG, JPEG, GIF or WebP."""
        picture = _there(self._at(store, at).store.figure, key)
        if picture.media_type not in SHOWN_TYPES:
            raise HTTPException(404, f"the figure {key} is no picture that a browser shows")
        return Response(picture.data, media_type=picture.media_type, headers=_PICTURE_HEADERS)

    def sql(self, asked: StatementQuestion) -> Response:
        """Run one SELECT in a process of its own, with limits of time and memory. It can read the store alone."""
        served = self._at(asked.store, asked.at)
        return as_json(answers.sql(served, asked.query, asked.max_rows, asked.seconds, asked.max_characters))

    def snapshots(self, store: StoreName = None, most: Most = MOST) -> Response:
        """List the kept snapshots, oldest first, as `docmill history --json` does, and the tags."""
        return as_json(answers.snapshots(self._at(store, None), most))

    def diff(
        self,
        old: Earlier,
        new: Later,
        text: Annotated[bool, Query(description="Whether to show the changed lines of chunks.")] = False,
        store: StoreName = None,
        most: Most = MOST,
    ) -> Response:
        """Show what changed between two snapshots, as `docmill diff --json` does."""
        return as_json(answers.difference(self._at(store, new), self._at(store, old), text, most))

    def status(self, at: At = None, store: StoreName = None, most: Most = MOST) -> Response:
        """Show what a store contains, as `docmill status --json` does, and name the served stores."""
        return as_json({**answers.status(self._at(store, at), most), "stores": self._stores.names})

    def queries(self, store: StoreName = None, most: Most = MOST) -> Response:
        """List the logged queries, the most frequent first, as `docmill queries list --json` does."""
        self._check_whole()
        logging = self._searching.notes is not None
        return as_json({**answers.queries(self._at(store, None), most), "logging": logging})

    def gaps(self, at: At = None, store: StoreName = None, most: Most = MOST) -> Response:
        """List the queries without a good answer, grouped by meaning, as `docmill queries gaps --json` does."""
        self._check_whole()
        return as_json(answers.gaps(self._at(store, at), most))

    def replay(self, old: Earlier, new: Later, store: StoreName = None, most: Most = MOST) -> Response:
        """Ask the most frequent queries of two snapshots, and show what moved, as `docmill replay --json` does."""
        self._check_whole()
        return as_json(answers.replay(self._at(store, new), self._at(store, old), self._searching, most))

    def judgements(
        self,
        query: Annotated[str | None, Query(max_length=LONGEST_QUERY, description="Only those of this query.")] = None,
        at: At = None,
        store: StoreName = None,
        most: Most = MOST,
    ) -> Response:
        """List what people have judged, as `docmill judge list --json` does, the newest ones that fit."""
        return as_json({**answers.judged(self._at(store, at), query, most), "judging": self._judging})

    def judge(self, asked: JudgementQuestion) -> Response:
        """Save a person's judgement of an answer to a query, in place of an earlier one."""
        self._check_judging()
        own = self._at(asked.store, asked.at)
        opinion = asked.model_dump(exclude={"query", "chunk_id", "relevant", "at", "store"})
        made = own.store.judge(asked.query, asked.chunk_id or None, asked.relevant, **opinion)
        return as_json({**own.head, "judgement": asdict(made)})

    def withdraw(self, judgement_id: JudgementId, store: StoreName = None) -> Response:
        """Take a judgement back."""
        self._check_judging()
        own = self._at(store, None)
        return as_json({**own.head, "withdrawn": asdict(own.store.withdraw(judgement_id))})

    def _check_judging(self) -> None:
        if not self._judging:
            raise HTTPException(403, "this server was started with --no-judging")

    async def healthz(self) -> Response:  # in the event loop: threads may all be busy
        """Health check, without a token."""
        return as_json({"status": "ok"})

    def metrics(self) -> Response:
        """Return the metrics of all clients, to clients that see everything."""
        self._check_whole()
        return Response(self._metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    def _check_whole(self) -> None:
        if self._stores.principals != SEES_ALL:
            raise HTTPException(403, "this token may not read what other clients ask")

    def _at(self, store: str | None, at: int | str | None) -> ServedStore:
        return asked_store(self._stores, store, at)


def _there(look: Callable[[str], Any], name: str) -> Any:
    """Return the result of `look(name)`; raise a 404, not a 400, if there is no such thing."""
    try:
        return look(name)
    except QueryError as error:
        raise HTTPException(404, str(error)) from error

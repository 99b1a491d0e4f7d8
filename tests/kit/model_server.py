"""A loopback server that speaks OpenAI's and Anthropic's protocol, with extractive answers that never vary.

To a prompt of numbered sentences it answers with the numbers of those that begin with the word "New"; to one for the
facts of a passage with its sentences; to one for phrasings of a chunk with a line for each of its sentences; to one
for verdicts with whether the excerpts hold each statement word for word; to one with a picture with what `sights`
says of it; to one with a marked chunk, text or document with the first words of the last of these; to one that asks
whether a passage is useful with yes where it says "New"; to any other with the prompt's last line. `mood` is what it
does next: "well", "429", "500", "slow", "truncated", "nonsense", "refusal", "obedient" (it says `words` and nothing
else), "unauthorized", or one of `FOREIGN`; `times` how often, then it is well again.

It embeds texts as vectors of hashed words, for any model but `UNKNOWN`; `drift` makes them those of another model.
At `/embed` it does so as Cohere does, at `:batchEmbedContents` as Gemini.
`embedded` counts how often the vector of a text was sent back.
"""

import hashlib
import json
import re
import threading
import time
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from typing import Any

from docmill.storage.keys import hash_bytes

_MARKED = re.compile(r"<((?:chunk|text|document)-\w+)>\n(.*?)\n</\1>", re.DOTALL)
_NUMBERED = re.compile(r"^\[(\d+)\] New\b", re.MULTILINE)
_STATEMENT = re.compile(r"^\((\d+)\) (.*)$", re.MULTILINE)
DIMENSION = 64
UNKNOWN = "other"
FOREIGN: dict[str, Any] = {
    "failed": {"error": {"message": "overloaded"}}, "nothing": {}, "a page": "<html>Sign in</html>",
    "odd": {"data": [{"index": 0, "embedding": None}], "choices": [{"message": None}], "content": [7]},
}  # fmt: skip
"""Answers of status 200 by servers that speak another protocol, or this one badly."""
STATUS = {"429": 429, "500": 500, "unauthorized": 401}


class ModelServer:
    """What a test tells the server, and what the server was asked: (path, headers, body) of each request."""

    def __init__(self) -> None:
        self.mood = "well"
        self.times = 10_000
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.url = ""
        self.words = ""
        self.sights: dict[str, str] = {}
        """What is on pictures, by the hashes of their files; those of others are answered by the hash."""
        self.slow_s = 0.5
        self.drift = 0.0
        self.embedded: Counter[str] = Counter()
        self.refused: set[str] = set()
        """What it refuses to embed."""
        self.before: Callable[[ModelServer], None] = lambda _: None
        """What is done before a request is answered."""
        self.most_at_once = 0
        self._lock = threading.Lock()
        self._at_once = 0

    def behave(self, mood: str, times: int = 10_000) -> None:
        """Answer the next requests in a mood."""
        self.mood, self.times = mood, times

    def asked(self) -> int:
        """Return the number of requests since the last time."""
        count = len(self.requests)
        self.requests.clear()
        return count

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count how many requests are under way at a time."""
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            yield
        finally:
            with self._lock:
                self._at_once -= 1

    def seen(self, message: dict[str, Any]) -> str:
        """Return the colour of a picture of one colour, as a word."""
        from PIL import Image

        (shown,) = message["content"]
        data = b64decode(shown["image_url"]["url"].partition(",")[2])
        sums = Image.open(BytesIO(data)).convert("RGB").resize((1, 1)).getpixel((0, 0))
        assert isinstance(sums, tuple)
        return "white" if min(sums) > 200 else ("red", "green", "blue")[sums.index(max(sums))]

    def take_mood(self) -> str:
        """Return the mood for one request."""
        self.times -= 1
        return self.mood if self.times >= 0 else "well"


def answer_to(prompt: str) -> str:
    """Return the answer to a prompt."""
    excerpts, _, statements = prompt.rpartition("\n\nStatements:\n")
    if excerpts:
        said = " ".join(excerpts.split()).lower()
        return "\n".join(f"{n}: {text.lower() in said}".lower() for n, text in _STATEMENT.findall(statements))
    if "\n\nPassage:\n" in prompt:
        sentences = prompt.rpartition("\n\nPassage:\n")[2].split(". ")
        return "\n".join(f"{n}. {text.strip(' .')}" for n, text in enumerate(sentences, start=1))
    if "[1] " in prompt:
        return ", ".join(_NUMBERED.findall(prompt)) or "none"
    marked = _MARKED.findall(prompt)
    for kind in ("statement", "question"):
        if f"Reply with one {kind} a line" in " ".join(prompt.split()):
            return phrased(kind, marked[-1][1])
    if marked:
        return f"It speaks of {' '.join(marked[-1][1].split()[:12])}."
    if prompt.endswith("Useful:"):
        return "yes" if "New " in prompt else "no"
    return prompt.strip().splitlines()[-1]


def phrased(kind: str, shown: str) -> str:
    """Return a line for each sentence of a chunk, which is shown below its title: in other words, as rules have it."""
    where, _, text = shown.partition("\n\n")
    sentences = [one.strip(" .#") for one in text.replace("\n\n", ". ").split(". ") if one.strip(" .#")]
    if kind == "question":
        return "\n".join(f"{n}. What about {' '.join(one.split()[:6])}?" for n, one in enumerate(sentences, 1))
    return "\n".join(["Here are the statements:", *(f"- In {where}, {one}." for one in sentences)])


class _Handler(BaseHTTPRequestHandler):
    server: Any

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        with self.server.own.counted():  # until it is answered: who has the answer may ask again at once
            status, payload = self._answer(self.server.own)
        self._send(status, payload)

    def _answer(self, own: ModelServer) -> tuple[int, Any]:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        own.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        own.before(own)
        mood = own.take_mood()
        if mood == "slow":
            time.sleep(own.slow_s)
        if mood in FOREIGN:
            return 200, FOREIGN[mood]
        if mood in STATUS:
            return STATUS[mood], {"error": {"message": mood, "type": mood}}
        if self.path.endswith("/embeddings"):
            return _embeddings(own, body, mood)
        if self.path.endswith("/embed"):
            return _as_cohere(*_embeddings(own, {"input": body["texts"], **body}, mood))
        if self.path.endswith(":batchEmbedContents"):
            texts = [one["content"]["parts"][0]["text"] for one in body["requests"]]
            return _as_gemini(*_embeddings(own, {"input": texts, "model": self.path}, mood))
        content = body["messages"][0]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        prompt = "\n\n".join(block["text"] for block in blocks if block["type"] == "text")
        seen = [hash_bytes(file) for block in blocks for file in _picture(block)]
        said = {"nonsense": "As a model I would cut at 99999!", "refusal": "", "obedient": own.words}
        usual = f"It shows {own.sights.get(seen[0], seen[0])}." if seen else answer_to(prompt)
        text = said.get(mood, usual)
        make = _message if self.path.endswith("/messages") else _completion
        return 200, make(text, mood, len(prompt) // 4)

    def _send(self, status: int, payload: Any) -> None:
        is_page = isinstance(payload, str)
        data = payload.encode() if is_page else json.dumps(payload).encode()
        self.send_response(status)
        self.send_header("content-type", "text/html" if is_page else "application/json")
        self.send_header("content-length", str(len(data)))
        self.send_header("retry-after-ms", "10")
        self.end_headers()
        self.wfile.write(data)


def _picture(block: dict[str, Any]) -> Iterator[bytes]:
    """Yield the file of a picture as OpenAI or Anthropic takes it."""
    if block["type"] == "image_url":
        yield b64decode(block["image_url"]["url"].partition(";base64,")[2])
    elif block["type"] == "image":
        yield b64decode(block["source"]["data"])


def vector_of(text: str, dimension: int = DIMENSION, drift: float = 0.0) -> list[float]:
    """Return the vector of a text, not of unit length."""
    vector = [drift * ((at * 7) % 5 - 2) for at in range(dimension)]
    for word in re.findall(r"\w+", text.lower()):
        digest = hashlib.blake2b(word.encode(), digest_size=4).digest()
        vector[int.from_bytes(digest) % dimension] += 1.0
    return vector


def _embeddings(own: ModelServer, body: dict[str, Any], mood: str) -> tuple[int, dict[str, Any]]:
    if body["model"] == UNKNOWN:
        return 404, {"error": {"message": f"no model {body['model']}", "type": "not_found"}}
    texts = [own.seen(one) for one in body["messages"]] if "messages" in body else body["input"]
    if mood in ("400", "413", "422") or own.refused & {*texts}:
        return int(mood) if mood.isdigit() else 400, {"error": {"message": f"I do not take {texts}", "type": "invalid"}}
    asked = body.get("dimensions") or body.get("output_dimension") or DIMENSION
    dimension = {"narrow": 8}.get(mood, asked)
    data = [
        {"object": "embedding", "index": at, "embedding": vector_of(text, dimension, own.drift)}
        for at, text in enumerate(texts)
    ]
    if mood != "slow":  # nobody waits for it
        own.embedded.update(texts)
    tokens = sum(len(text) // 4 for text in texts) + (100 if "messages" in body else 0)
    # Out of their order: `index` says which is which.
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return 200, {"object": "list", "model": body["model"], "data": data[::-1], "usage": usage}


def _as_cohere(status: int, answer: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return an answer with vectors as Cohere gives it."""
    if status != 200:
        return status, {"message": answer["error"]["message"]}
    rows = sorted(answer["data"], key=lambda one: one["index"])
    billed = {"billed_units": {"input_tokens": answer["usage"]["prompt_tokens"]}}
    return 200, {"id": "1", "embeddings": {"float": [one["embedding"] for one in rows]}, "meta": billed}


def _as_gemini(status: int, answer: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return an answer with vectors as Gemini gives it, which counts no tokens."""
    rows = sorted(answer.get("data", ()), key=lambda one: one["index"])
    return status, {"embeddings": [{"values": one["embedding"]} for one in rows]} if status == 200 else answer


def _completion(text: str, mood: str, tokens: int) -> dict[str, Any]:
    reason = {"truncated": "length", "refusal": "content_filter"}.get(mood, "stop")
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "loopback",
        "choices": [{"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": text}}],
        "usage": {
            "prompt_tokens": tokens,
            "completion_tokens": 3,
            "total_tokens": tokens + 3,
            "prompt_tokens_details": {"cached_tokens": 2},
        },
    }


def _message(text: str, mood: str, tokens: int) -> dict[str, Any]:
    reason = {"truncated": "max_tokens", "refusal": "refusal"}.get(mood, "end_turn")
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "loopback",
        "content": [{"type": "text", "text": text}],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {
            "input_tokens": tokens - 2,
            "cache_read_input_tokens": 2,
            "cache_creation_input_tokens": 0,
            "output_tokens": 3,
        },
    }


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """Serve on a free port of this machine."""
    own = ModelServer()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.own = own  # type: ignore[attr-defined]
    own.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield own
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

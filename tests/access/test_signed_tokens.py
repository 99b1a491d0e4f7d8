"""Signed tokens: which of them a server takes, and in whose name their bearers ask."""

import base64
import hmac
import json
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from docmill.flows.serving.access import Access, TokenFile
from docmill.flows.serving.answers import Searching
from docmill.flows.serving.http.http_app import http_app
from docmill.flows.serving.open_stores import OpenStores
from docmill.flows.serving.signed_tokens import SKEW_S
from docmill.storage.errors import ConfigError
from tests.kit.workbench import MakeBench
from tests.serving.http_server import running

ISSUER, AUDIENCE = "https://login.example.org", "docmill"
RSA, OTHER = (rsa.generate_private_key(65537, 2048) for _ in range(2))
ELLIPTIC = ec.generate_private_key(ec.SECP256R1())
EDWARDS = ed25519.Ed25519PrivateKey.generate()
SECRET = b"0123456789abcdef0123456789abcdef"
KEYS: dict[str, Any] = {"RS256": RSA, "PS384": RSA, "ES256": ELLIPTIC, "EdDSA": EDWARDS}


def pem(key: Any) -> bytes:
    return bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )


def claims(**own: Any) -> dict[str, Any]:
    """Return the claims of a good token, with some replaced, or left out where they are None."""
    whole = {"iss": ISSUER, "aud": AUDIENCE, "exp": time.time() + 60, "groups": ["sales", "board"], "sub": "ada", **own}
    return {name: value for name, value in whole.items() if value is not None}


def seen(tokens: TokenFile, token: str) -> set[str] | None:
    """Return the principals of a token as a set, None if it is refused."""
    found = tokens.principals_of(token)
    return None if found is None else {*found}


def token_file(folder: Path, keys: bytes, **own: Any) -> Path:
    """Write a token file that takes tokens signed by keys."""
    (folder / "keys").write_bytes(keys)
    table = {
        "keys": "keys", "algorithms": ["RS256"], "issuer": ISSUER, "audience": AUDIENCE, "principals": {"groups": ""},
        **own,
    }  # fmt: skip
    path = folder / "tokens.json"
    path.write_text(json.dumps({"jwt": table}))
    return path


@pytest.mark.parametrize("algorithm", KEYS)
def test_a_token_is_taken_by_its_key_and_gives_its_claims(tmp_path: Path, algorithm: str) -> None:
    key = KEYS[algorithm]
    tokens = TokenFile(token_file(tmp_path, pem(key), algorithms=[algorithm]))
    assert seen(tokens, jwt.encode(claims(), key, algorithm)) == {"sales", "board"}
    assert seen(tokens, jwt.encode(claims(), key, algorithm, headers={"kid": "any"})) == {"sales", "board"}


def test_claims_are_prefixed_and_found_by_paths_and_none_sees_everything(tmp_path: Path) -> None:
    named = {"groups": "", "sub": "user:", "realm.roles": "role:", "https://x.org/team": "", "absent": "", "exp": ""}
    tokens = TokenFile(token_file(tmp_path, pem(RSA), principals=named, also=["all"]))
    told = claims(groups=["*", "sales", 7, ""], realm={"roles": "editor"}, **{"https://x.org/team": "mill"})
    assert seen(tokens, jwt.encode(told, RSA, "RS256")) == {
        "all", "sales", "user:ada", "role:editor", "mill",
    }  # fmt: skip
    assert seen(tokens, jwt.encode(claims(groups=None), RSA, "RS256")) == {"all", "user:ada"}


WRONG: dict[str, Any] = {
    "ended": {"exp": time.time() - SKEW_S - 5},
    "endless": {"exp": None},
    "not yet begun": {"nbf": time.time() + 86_400},
    "of another issuer": {"iss": "https://evil.example.org"},
    "of no issuer": {"iss": None},
    "for another audience": {"aud": "mail"},
    "for no audience": {"aud": None},
    "with an endless number": {"exp": float("inf")},
    "with a principal of a megabyte": {"groups": ["x" * 1001]},
}


@pytest.mark.parametrize("why", WRONG)
def test_a_token_is_refused_that_is(tmp_path: Path, why: str) -> None:
    tokens = TokenFile(token_file(tmp_path, pem(RSA)))
    assert tokens.principals_of(jwt.encode(claims(**WRONG[why]), RSA, "RS256")) is None


def unsigned(header: dict[str, Any], told: dict[str, Any], sign: bytes | None = None) -> str:
    """Return a token with any header, signed by a secret or not at all, which no library makes."""
    parts = (base64.urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=") for one in (header, told))
    head = b".".join(parts)
    signature = hmac.digest(sign, head, sha256) if sign else b""
    return f"{head.decode()}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def test_no_token_chooses_how_it_is_checked(tmp_path: Path) -> None:
    tokens = TokenFile(token_file(tmp_path, pem(RSA), algorithms=["RS256", "HS256"]))
    jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(OTHER.public_key()))
    good = jwt.encode(claims(), RSA, "RS256")
    named: list[Any] = ["none", "None", "", None, [], {}, "RS256", "HS256"]
    forged = [
        *(unsigned({"alg": one}, claims()) for one in named),
        unsigned({"alg": "HS256"}, claims(), pem(RSA)),  # the public key as a secret
        unsigned({"alg": "HS256"}, claims(), pem(RSA).strip()),
        jwt.encode(claims(), OTHER, "RS256", headers={"jwk": jwk}),
        jwt.encode(claims(), OTHER, "RS256", headers={"jku": "http://127.0.0.1:1/jwks", "x5u": "http://127.0.0.1:1"}),
        jwt.encode(claims(), RSA, "RS512"),
        unsigned({"alg": "RS256", "crit": ["exp"]}, claims(), b"x"),
        ".".join([good.split(".")[0], unsigned({}, claims(groups=["all"])).split(".")[1], good.split(".")[2]]),
        good[:-2], good + "A", "..", ".", "a.b.c", "x" * 20_000, "ä.ö.ü", "[" * 5_000,
    ]  # fmt: skip
    assert tokens.principals_of(good)
    assert [one for one in forged if tokens.principals_of(one) is not None] == []


def test_a_set_of_keys_has_the_key_that_a_token_names(tmp_path: Path) -> None:
    own = [
        {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(RSA.public_key())), "kid": "old", "alg": "RS256"},
        {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(OTHER.public_key())), "kid": "new"},
        {**json.loads(jwt.algorithms.ECAlgorithm.to_jwk(ELLIPTIC.public_key())), "kid": "curve"},
        {"kty": "oct", "kid": "secret", "k": base64.urlsafe_b64encode(SECRET).decode()},
        {"kty": "new kind", "kid": "?"},
    ]
    allowed = ["RS256", "RS512", "ES256"]
    path = token_file(tmp_path, json.dumps({"keys": own}).encode(), algorithms=allowed)
    tokens = TokenFile(path)

    def taken(key: Any, algorithm: str, **header: str) -> bool:
        return tokens.principals_of(jwt.encode(claims(), key, algorithm, headers=header)) is not None

    assert [taken(RSA, "RS256", kid="old"), taken(OTHER, "RS512", kid="new"), taken(ELLIPTIC, "ES256")] == [True] * 3
    assert [taken(RSA, "RS512", kid="old"), taken(RSA, "RS256", kid="new"), taken(RSA, "RS256")] == [False] * 3
    assert not taken(SECRET, "HS256", kid="secret"), "a secret in the set, and no such algorithm in the settings"
    (tmp_path / "keys").write_text(json.dumps({"keys": own[1:]}))
    assert not taken(RSA, "RS256", kid="old"), "the key was taken back"
    (tmp_path / "keys").write_text("{")
    assert not taken(OTHER, "RS256", kid="new"), "no token is taken while the keys cannot be read"
    (tmp_path / "keys").write_text(json.dumps({"keys": own[1:2]}))
    assert taken(OTHER, "RS256", kid="new")


def test_a_secret_of_enough_bytes_signs_tokens_beside_plain_ones(tmp_path: Path) -> None:
    path = token_file(tmp_path, SECRET + b"\n", algorithms=["HS256"])
    path.write_text(json.dumps({**json.loads(path.read_text()), "0123456789abcdef": ["*"]}))
    tokens = TokenFile(path)
    assert seen(tokens, jwt.encode(claims(), SECRET, "HS256")) == {"sales", "board"}
    assert seen(tokens, "0123456789abcdef") == {"*"}


@pytest.mark.parametrize(
    ("keys", "table", "said"),
    [
        (pem(RSA), {"algorithms": ["none"]}, "algorithms.0"),
        (pem(RSA), {"algorithms": []}, "algorithms"),
        (pem(RSA), {"algorithms": ["HS256"]}, "no key for HS256"),
        (pem(RSA), {"audience": ""}, "audience"),
        (pem(RSA), {"principals": {}}, "principals"),
        (pem(RSA), {"also": [""]}, "also"),
        (pem(RSA), {"leeway": 9}, "leeway"),
        (pem(rsa.generate_private_key(65537, 1024)), {}, "1024 bits"),
        (b"short", {"algorithms": ["HS256"]}, "5 bytes"),
        (b"text", {}, "neither a JWK set nor a public key"),
        (b'{"keys": 3}', {}, "no JWK set"),
        (b'{"keys": []}', {}, "no key for RS256"),
        (json.dumps({"keys": [json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(RSA))]}).encode(), {}, "private key"),
        (
            RSA.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            ),
            {},
            "no public key",
        ),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(tmp_path: Path, keys: bytes, table: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        TokenFile(token_file(tmp_path, keys, **table))


@pytest.fixture(scope="module")
def url(make_bench: MakeBench, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    bench = make_bench(
        {
            "sales.md": "# Sales\n\nThe mill sells.\n", "sales.md.meta.toml": 'access = ["sales"]\n',
            "law.md": "# Law\n\nThe mill signs.\n", "law.md.meta.toml": 'access = ["law"]\n',
        }
    )  # fmt: skip
    tokens = TokenFile(token_file(tmp_path_factory.mktemp("tokens"), pem(RSA)))
    access = Access(port=0, tokens=tokens)
    app = http_app(OpenStores({"handbook": bench.root}, access.without_asker), Searching({}), access)
    with running(app, access) as found:
        yield found


@pytest.mark.usefixtures("fake_model")
def test_a_server_answers_from_what_the_claims_may_see(url: str) -> None:
    def asked(token: str) -> httpx.Response:
        head = {"Authorization": f"Bearer {token}"}
        return httpx.post(f"{url}/search", json={"query": "mill"}, headers=head, timeout=60)

    for groups in (["sales"], ["law"], ["sales", "law"], []):
        found = asked(jwt.encode(claims(groups=groups), RSA, "RS256")).json()
        assert sorted(hit["uri"] for hit in found["hits"]) == sorted(f"{one}.md" for one in groups)
    refused = [asked(unsigned({"alg": "none"}, claims())), asked(jwt.encode(claims(exp=1), RSA, "RS256")), asked("x")]
    assert {(one.status_code, one.text) for one in refused} == {(401, refused[0].text)}

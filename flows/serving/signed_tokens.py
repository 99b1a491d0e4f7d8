"""Signed tokens: check JSON Web Tokens of a login service with its keys, and return the principals that they claim."""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from docmill.storage.access.principals import check_principals
from docmill.storage.errors import ConfigError, QueryError
from docmill.storage.process.extras import extra

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes

SKEW_S = 10
"""Seconds by which the clocks of two machines may differ; a token is still accepted this long after it expires."""
_LONGEST = 16_000  # characters of a token; even with hundreds of groups it has only some thousand
_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_SECRET = ("HS256", "HS384", "HS512")
_OF_CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
_LOG = logging.getLogger("docmill.serving")
Algorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "HS256", "HS384", "HS512"
]


class SignedTokenSettings(BaseModel):
    """The table `[jwt]` of a token file. All but `also` is required: a login service also signs tokens for others.

    `principals` are claims, each with a prefix for its values, so that a person named like a group is not that group.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    keys: str = Field(min_length=1)
    algorithms: tuple[Algorithm, ...] = Field(min_length=1)
    issuer: str = Field(min_length=1)
    audience: str = Field(min_length=1)
    principals: dict[str, str] = Field(min_length=1)
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckingKey:
    """A key, and the algorithms that it may be used with, so that a token cannot choose another one."""

    kid: str | None
    algorithms: frozenset[str]
    material: Any


@dataclass(frozen=True, slots=True)
class SignedTokens:
    """Checks signed tokens with the keys of `keys_of`."""

    settings: SignedTokenSettings
    keys: Sequence[CheckingKey]

    def principals_of(self, token: str) -> frozenset[str] | None:
        """Return the principals that a token claims, or None if it is not accepted.

        A claim of `"*"`, which sees everything, is ignored.
        """
        import jwt

        if len(token) > _LONGEST:
            return None
        try:
            key, algorithm = self._key(jwt.get_unverified_header(token))
            claims = jwt.decode(
                token,
                key.material,
                algorithms=[algorithm],  # one that the settings name and that fits the key
                issuer=self.settings.issuer,
                audience=self.settings.audience,
                leeway=SKEW_S,
                options={"require": ["exp", "iss", "aud"]},
            )
            claimed = {*self.settings.also, *self._claimed(claims)} - {"*"}
            return check_principals(claimed)
        except (jwt.PyJWTError, QueryError, ValueError, TypeError, OverflowError) as error:
            _LOG.info("a signed token is refused: %r", str(error))
            return None

    def _key(self, header: Mapping[str, Any]) -> tuple[CheckingKey, str]:
        """Return the key that a token names and its algorithm; raise `ValueError` if they do not fit together."""
        algorithm, kid = header.get("alg"), header.get("kid")
        named = [key for key in self.keys if None in (kid, key.kid) or kid == key.kid]
        found = [key for key in named if algorithm in key.algorithms]
        if len(found) != 1:
            raise ValueError("no key, or more than one, fits its kid and its algorithm")
        return found[0], str(algorithm)

    def _claimed(self, claims: Mapping[str, Any]) -> Iterator[str]:
        for name, prefix in self.settings.principals.items():
            value = _claim(claims, name)
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, str) and one:
                    yield f"{prefix}{one}"


def _claim(claims: Mapping[str, Any], name: str) -> Any:
    """Return a claim by its name, or by a path such as `realm_access.roles`; None if there is none."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for step in name.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def settings_of(table: object) -> SignedTokenSettings:
    """Return the settings in a table `[jwt]`; raise `ConfigError` if it is wrong, or PyJWT is not installed."""
    try:
        settings = SignedTokenSettings.model_validate(table)
        check_principals(settings.also)
    except ValidationError as error:
        one = error.errors(include_input=False, include_url=False)[0]
        raise ConfigError(f"[jwt] {'.'.join(map(str, one['loc']))}: {one['msg']}") from None
    except QueryError as error:
        raise ConfigError(f"[jwt] also: {error}") from None
    with extra("jwt", "[jwt] in a token file"):
        import jwt  # noqa: F401
    return settings


def keys_of(path: Path, settings: SignedTokenSettings) -> list[CheckingKey]:
    """Return the keys of a file for the algorithms of the settings.

    Raises:
        docmill.errors.ConfigError: The file cannot be read, or a key is private, too short or of the wrong kind.
    """
    found = [*_usable(_keys(path, settings), settings.algorithms)]
    if not found:
        raise ConfigError(f"[jwt] keys: {path} has no key for {', '.join(settings.algorithms)}")
    return found


def _keys(path: Path, settings: SignedTokenSettings) -> Iterator[CheckingKey]:
    """Yield the keys of a file: a JWK set, a public key in PEM, or a secret."""
    try:
        data = path.read_bytes().strip()
    except OSError as error:
        raise ConfigError(f"[jwt] keys: {path} cannot be read: {error.strerror}") from None
    if data.startswith(b"{"):
        yield from _of_set(path, data)
    elif data.startswith(b"-----"):
        yield CheckingKey(None, *_public(path, data))
    elif {*settings.algorithms} <= {*_SECRET}:
        yield CheckingKey(None, frozenset(_SECRET), data)
    else:
        raise ConfigError(f"[jwt] keys: {path} is neither a JWK set nor a public key in PEM")


def _public(path: Path, data: bytes) -> "tuple[frozenset[str], PublicKeyTypes]":
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(data)
    except ValueError:
        raise ConfigError(f"[jwt] keys: {path} is no public key in PEM: -----BEGIN PUBLIC KEY-----") from None
    return frozenset(_algorithms(key)), key


def _algorithms(key: Any) -> Sequence[str]:
    """Return the algorithms that a public key or a secret can be used with."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    if isinstance(key, bytes):
        return _SECRET
    if isinstance(key, rsa.RSAPublicKey):
        return _RSA
    if isinstance(key, ec.EllipticCurvePublicKey):
        return [_OF_CURVES[key.curve.name]] if key.curve.name in _OF_CURVES else []
    return ["EdDSA"] if isinstance(key, ed25519.Ed25519PublicKey) else []


def _of_set(path: Path, data: bytes) -> Iterator[CheckingKey]:
    """Yield the keys of a JWK set; keys for encryption and keys of unknown types are skipped."""
    import jwt

    try:
        found = json.loads(data)["keys"]
        rows = [row for row in found if row.get("use", "sig") == "sig"]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ConfigError(f'[jwt] keys: {path} is no JWK set: {{"keys": [...]}}') from None
    for row in rows:
        if row.get("kty") != "oct" and "d" in row:
            raise ConfigError(f"[jwt] keys: {path} holds a private key; a server needs the public one alone")
        try:
            own = jwt.PyJWK(row)
        except (jwt.PyJWTError, TypeError, ValueError):
            continue
        fitting = {*_algorithms(own.key)}
        yield CheckingKey(row.get("kid"), frozenset(fitting & {row["alg"]} if "alg" in row else fitting), own.key)


def _usable(keys: Iterator[CheckingKey], algorithms: Sequence[str]) -> Iterator[CheckingKey]:
    """Yield the keys for the algorithms of the settings; raise `ConfigError` for a key that is too short."""
    from jwt.algorithms import get_default_algorithms

    for key in keys:
        fitting = key.algorithms & {*algorithms}
        for one in fitting:
            if short := get_default_algorithms()[one].check_key_length(key.material):
                raise ConfigError(f"[jwt] keys: {short.split('. ')[0]}")
        if fitting:
            yield CheckingKey(key.kid, fitting, key.material)

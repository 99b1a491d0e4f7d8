"""Certificates of a test: an authority, and one machine that it knows."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_LIFE = timedelta(days=1)


def write_certificates(folder: Path) -> dict[str, str]:
    """Write the files of `[cluster]` into a folder, and return the paths by the names of their settings."""
    folder.mkdir(parents=True, exist_ok=True)
    above, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    texts = {
        "tls_ca": _signed("authority", above, above),
        "tls_cert": _signed("machine", own, above),
        "tls_key": own.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    }
    for name, text in texts.items():
        (folder / f"{name}.pem").write_bytes(text)
    return {name: str(folder / f"{name}.pem") for name in texts}


def _signed(name: str, key: ec.EllipticCurvePrivateKey, by: ec.EllipticCurvePrivateKey) -> bytes:
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _LIFE)
        .not_valid_after(now + _LIFE)
        .add_extension(x509.BasicConstraints(ca=key is by, path_length=None), critical=True)
        .sign(by, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM)

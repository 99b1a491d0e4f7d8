"""Self-signed: a key and a certificate by which the processes of one cluster know each other."""

from datetime import UTC, datetime, timedelta

_NAME = "docmill"


def self_signed_pem(lasts: timedelta) -> bytes:
    """Return a new key and its certificate, which is its own authority: who connects has to have the key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, _NAME)])
    now = datetime.now(UTC)
    use = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "crl_sign", "encipher_only",
         "decipher_only"),
        False,
    )  # fmt: skip
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + lasts)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(digital_signature=True, key_cert_sign=True, **use), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(*form) + made.public_bytes(serialization.Encoding.PEM)

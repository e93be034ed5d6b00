"""A CA of our own, and a server's certificate that it signed."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NOW = datetime.now(UTC)
PEM = serialization.Encoding.PEM


def tls(folder: Path, address: str = "127.0.0.1") -> tuple[ssl.SSLContext, Path]:
    """What a server at ``address`` says who it is with, and the file of the CA that its clients have to trust."""
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca = _begun("a CA of our own", "a CA of our own", ca_key).add_extension(
        x509.BasicConstraints(ca=True, path_length=None), critical=True
    )
    own = _begun("the server", "a CA of our own", key).add_extension(
        x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]), critical=False
    )
    (folder / "ca.pem").write_bytes(ca.sign(ca_key, hashes.SHA256()).public_bytes(PEM))
    (folder / "server.pem").write_bytes(
        own.sign(ca_key, hashes.SHA256()).public_bytes(PEM)
        + key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "server.pem")
    return context, folder / "ca.pem"


def _begun(name: str, issuer: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    def called(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    return (
        x509.CertificateBuilder()
        .subject_name(called(name))
        .issuer_name(called(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - timedelta(days=1))
        .not_valid_after(NOW + timedelta(days=1))
    )

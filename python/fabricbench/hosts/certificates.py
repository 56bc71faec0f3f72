"""Mutual TLS between controller and agents: creates the certificate authority, keys and certificates.

A controller has a folder (`authority/` of the workspace by default) with the key of its certificate
authority, with which it signs a certificate for itself before it calls agents. An agent has its own folder
with its key, which never leaves the host, its certificate and that of the authority.

The domain of a name gives the role, so that no host can pass for a controller: `NAME.agent.fabricbench` is an
agent, `controller.fabricbench` a controller. Keys are P-256; certificates of agents are valid for a year, the
authority's for ten years, a controller's for a day.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabricbench.hosts.protocol import RefusedError
from fabricbench.inputs import read_input

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey

CONTROLLER: Final = "controller.fabricbench"
"""Name in the certificate of a controller."""
AUTHORITY: Final = "authority.fabricbench"
"""Name in the certificate of the authority, which hosts check when they join."""
_AGENTS: Final = ".agent.fabricbench"
AGENT_DAYS: Final = 365
_AUTHORITY_DAYS: Final = 3_650
_CONTROLLER_DAYS: Final = 1
_SKEW: Final = timedelta(minutes=5)
"""Certificates are valid from slightly earlier, because clocks differ."""
_REQUEST_BYTES_MAX: Final = 8_192
NAME_LENGTH_MAX: Final = 46
"""Together with the domain of agents 64, the longest common name (RFC 5280, ub-common-name)."""
NAME: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9-]{{0,{NAME_LENGTH_MAX - 1}}}")
"""Syntax of host names: a label of a domain name (RFC 1123, 2.1)."""

_KEY: Final = "key.pem"
_CERTIFICATE: Final = "certificate.pem"
_AUTHORITY: Final = "authority.pem"


@dataclass(frozen=True)
class Identity:
    """Key and certificate of one end, and the authority that it trusts, all PEM.

    Attributes:
        key: Private key.
        certificate: Certificate of that key.
        authority: Certificate of the authority that signed it and those of the peers.
    """

    key: bytes
    certificate: bytes
    authority: bytes

    @property
    def name(self) -> str:
        """The name in the certificate."""
        return common_name(self.certificate)

    @property
    def expires(self) -> datetime:
        """End of the certificate's validity."""
        return _loaded(self.certificate).not_valid_after_utc


def agent_name(host: str) -> str:
    """Return the name of a host's agent in its certificate."""
    return host.lower() + _AGENTS


def check_name(name: str) -> None:
    """Check the name of a host.

    Raises:
        RefusedError: The name is not allowed in a certificate.
    """
    if not NAME.fullmatch(name):
        allowed = f"up to {NAME_LENGTH_MAX} letters, digits and hyphens, no hyphen first"
        raise RefusedError("name", f'"{name}"', allowed)


class Authority:
    """The certificate authority of a controller: signs certificates of agents and of the controller."""

    def __init__(self, folder: Path) -> None:
        """Open the authority in a folder, or create one there.

        Raises:
            RefusedError: The folder has half an authority, or one that cannot be read.
            OSError: It cannot be written.
        """
        self.folder = folder
        if not (folder / _KEY).exists() and not (folder / _CERTIFICATE).exists():
            _make_authority(folder)
        try:
            self._key = _key_of(read_input(folder / _KEY))
            self.certificate = read_input(folder / _CERTIFICATE)
            self._own = _loaded(self.certificate)
        except (OSError, ValueError) as error:
            hint = "remove the folder to make a new authority; every host must join again then"
            raise RefusedError(
                "", f"{folder}, an authority that cannot be read: {error}", "", hint
            ) from error

    @property
    def identity(self) -> Identity:
        """The authority's own identity, for the server at which hosts join."""
        return Identity(read_input(self.folder / _KEY), self.certificate, self.certificate)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of its certificate in hex; a host identifies the authority by it when it joins."""
        return fingerprint(self.certificate)

    def controller(self) -> Identity:
        """Create and return a new identity for a controller."""
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import ExtendedKeyUsageOID

        key = ec.generate_private_key(ec.SECP256R1())
        usage = [ExtendedKeyUsageOID.CLIENT_AUTH]
        signed = self._sign(CONTROLLER, key.public_key(), usage, _CONTROLLER_DAYS)
        return Identity(_pem_of(key), signed, self.certificate)

    def sign_agent(self, name: str, request: bytes, days: int = AGENT_DAYS) -> bytes:
        """Sign the certificate of an agent.

        Args:
            name: Name of the host, from its token; the name in the request is ignored.
            request: Certificate signing request, PEM.
            days: Validity in days.

        Raises:
            RefusedError: The request is malformed, or not signed with its own key.
        """
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
        from cryptography.x509.oid import ExtendedKeyUsageOID

        check_name(name)
        allowed = "a signed request of a P-256 key, PEM"
        if len(request) > _REQUEST_BYTES_MAX:
            raise RefusedError("request", f"{len(request)} bytes", f"at most {_REQUEST_BYTES_MAX}")
        try:
            signing_request = x509.load_pem_x509_csr(request)
            key, is_signed = signing_request.public_key(), signing_request.is_signature_valid
        except Exception as error:  # parser errors for hostile bytes are not documented
            raise RefusedError("request", "no certificate signing request", allowed) from error
        if not isinstance(key, EllipticCurvePublicKey) or not isinstance(key.curve, SECP256R1):
            raise RefusedError("request", "another kind of key", allowed)
        if not is_signed:
            raise RefusedError("request", "a wrong signature", allowed)
        return self._sign(agent_name(name), key, [ExtendedKeyUsageOID.SERVER_AUTH], days)

    def _sign(
        self, name: str, key: EllipticCurvePublicKey, usage: list[x509.ObjectIdentifier], days: int
    ) -> bytes:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes

        now = datetime.now(UTC)
        built = (
            _named(name, key)
            .issuer_name(self._own.subject)
            .not_valid_before(now - _SKEW)
            .not_valid_after(min(now + timedelta(days=days), self._own.not_valid_after_utc))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usage), critical=True)
            .add_extension(_authority_key(self._own), critical=False)
        )
        return _as_pem(built.sign(self._key, hashes.SHA256()))


def _authority_key(authority: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    from cryptography import x509

    subject = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(subject.value)


def _make_authority(folder: Path) -> None:
    """Create the key and the certificate of an authority in a folder accessible only to its owner."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID

    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    may = dict.fromkeys(_USAGES, False) | {"digital_signature": True, "key_cert_sign": True}
    built = (
        _named(AUTHORITY, key.public_key())
        .issuer_name(_subject(AUTHORITY))
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + timedelta(days=_AUTHORITY_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(**may), critical=True)
        # Servers use it as their own certificate while hosts join; no client does.
        .add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
            critical=False,
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    write_secret(folder / _KEY, _pem_of(key))
    (folder / _CERTIFICATE).write_bytes(_as_pem(built.sign(key, hashes.SHA256())))


_USAGES: Final = (
    *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
    *("key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
)


class AgentFolder:
    """Folder of an agent's key and certificates."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def identity(self) -> Identity | None:
        """Return the agent's identity, or `None` if it has not joined.

        Raises:
            RefusedError: The certificate has expired, is not valid yet, or does not match the key.
        """
        files = [self.folder / name for name in (_KEY, _CERTIFICATE, _AUTHORITY)]
        if not all(file.exists() for file in files):
            return None
        identity = Identity(*(read_input(file) for file in files))
        hint = "join again: `fabricbench hosts token NAME` at the controller makes a token"
        try:
            certificate, expires = _loaded(identity.certificate), identity.expires
            is_own = _public_bytes(certificate.public_key()) == _public_bytes(
                _key_of(identity.key).public_key()
            )
        except ValueError as error:
            actual = f"{self.folder}, certificates that cannot be read: {error}"
            raise RefusedError("", actual, "", hint) from error
        if not is_own:
            raise RefusedError("", f"{files[1]}, a certificate of another key", f"one of {files[0]}", hint)
        now = datetime.now(UTC)
        if now < certificate.not_valid_before_utc:
            actual = f"{files[1]}, valid from {certificate.not_valid_before_utc:%Y-%m-%d %H:%M} UTC on"
            early = f"the time of day of this host is {now:%Y-%m-%d %H:%M} UTC: is it right?"
            raise RefusedError("", actual, "a valid certificate", early)
        if expires < now:
            raise RefusedError("", f"{files[1]}, expired on {expires:%Y-%m-%d}", "a valid certificate", hint)
        return identity

    def save(self, key: bytes, certificate: bytes, authority: bytes) -> None:
        """Store the result of joining in a folder accessible only to its owner."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder.chmod(0o700)
        write_secret(self.folder / _KEY, key)
        (self.folder / _CERTIFICATE).write_bytes(certificate)
        (self.folder / _AUTHORITY).write_bytes(authority)


def new_request() -> tuple[bytes, bytes]:
    """Return a new key and a certificate request for it, PEM; the name is set by the token."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    request = (
        x509.CertificateSigningRequestBuilder().subject_name(_subject("agent")).sign(key, hashes.SHA256())
    )
    return _pem_of(key), request.public_bytes(serialization.Encoding.PEM)


def fingerprint(certificate: bytes) -> str:
    """Return the SHA-256 of a certificate, PEM, in hex."""
    from cryptography.hazmat.primitives import hashes

    return _loaded(certificate).fingerprint(hashes.SHA256()).hex()


def common_name(certificate: bytes) -> str:
    """Return the name in a certificate, PEM."""
    from cryptography.x509.oid import NameOID

    (name,) = _loaded(certificate).subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(name.value)


def write_secret(path: Path, content: bytes) -> None:
    """Write a file atomically, at all times readable only by its owner."""
    new_path = path.with_name(path.name + ".new")
    new_path.unlink(missing_ok=True)
    with os.fdopen(os.open(new_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new_path.replace(path)


def _named(name: str, key: EllipticCurvePublicKey) -> x509.CertificateBuilder:
    from cryptography import x509

    return (
        x509.CertificateBuilder()
        .subject_name(_subject(name))
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    )


def _subject(name: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _loaded(certificate: bytes) -> x509.Certificate:
    from cryptography import x509

    return x509.load_pem_x509_certificate(certificate)


def _key_of(pem: bytes) -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    key = load_pem_private_key(pem, None)
    if not isinstance(key, EllipticCurvePrivateKey):
        raise ValueError("no key of an elliptic curve")
    return key


def _pem_of(key: EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _as_pem(certificate: x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM)


def _public_bytes(key: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return bytes(key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))

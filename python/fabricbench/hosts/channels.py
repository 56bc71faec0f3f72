"""gRPC channels and servers with mutual TLS, and the translation of failed calls into errors for users."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from fabricbench.hosts.addresses import Address
from fabricbench.hosts.certificates import Identity, common_name
from fabricbench.hosts.protocol import (
    OPTIONS,
    PROTOCOL,
    PROTOCOL_KEY,
    REFUSAL_KEY,
    TEXT_BYTES_MAX,
    RefusedError,
)

if TYPE_CHECKING:
    import grpc


METADATA: Final = ((PROTOCOL_KEY, PROTOCOL),)
_CONNECT_S: Final = 3.0
_VALIDITY_ERRORS: Final = (9, 10)
"""Certificate not yet valid, or expired (X509_STORE_CTX_get_error(3))."""
_TIME: Final = "is the time of day right here and at the host?"
_JOIN: Final = "have the host join again: `fabricbench hosts token NAME`"


def channel(address: Address, identity: Identity | None, name: str) -> grpc.Channel:
    """Open a channel to an agent.

    Args:
        address: Listen address of the agent.
        identity: Identity of the controller; `None` for a channel without TLS.
        name: The name required in the agent's certificate.
    """
    import grpc

    if identity is None:
        return grpc.insecure_channel(address.target, OPTIONS)
    credentials = grpc.ssl_channel_credentials(identity.authority, identity.key, identity.certificate)
    return grpc.secure_channel(
        address.target, credentials, (*OPTIONS, ("grpc.ssl_target_name_override", name))
    )


def server_credentials(identity: Identity, *, require_client_auth: bool = True) -> grpc.ServerCredentials:
    """Return the credentials of a server; `require_client_auth` rejects clients without a certificate."""
    import grpc

    return grpc.ssl_server_credentials(
        [(identity.key, identity.certificate)],
        identity.authority if require_client_auth else None,
        require_client_auth=require_client_auth,
    )


def bind(server: grpc.Server, listen: Address, credentials: grpc.ServerCredentials | None) -> None:
    """Bind a server to an address; a Unix socket is for its own user only.

    Raises:
        RefusedError: It cannot listen there.
    """
    if listen.path:
        _remove_stale(Path(listen.path))
    umask_before = os.umask(0o177)
    try:
        if credentials is None:
            server.add_insecure_port(listen.target)
        else:
            server.add_secure_port(listen.target, credentials)
    except RuntimeError as error:
        hint = "another program may listen there already: `ss -ltnp` tells which"
        raise RefusedError("--listen", f"{listen}, where nothing can listen", "", hint) from error
    finally:
        os.umask(umask_before)


def _remove_stale(path: Path) -> None:
    """Remove a socket that no process serves any more."""
    import socket

    if not path.is_socket():
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(os.fspath(path))
        except ConnectionRefusedError:
            path.unlink()


def abort(context: grpc.ServicerContext, refusal: RefusedError) -> NoReturn:
    """End a call with a refusal."""
    import grpc

    from fabricbench.hosts.proto import agent_pb2 as pb

    parts = (refusal.field, refusal.found, refusal.allowed, refusal.hint)
    field, actual, allowed, hint = (part[:TEXT_BYTES_MAX] for part in parts)
    message = pb.Refusal(field=field, found=actual, allowed=allowed, hint=hint)
    context.set_trailing_metadata(((REFUSAL_KEY, message.SerializeToString()),))
    context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(refusal)[:TEXT_BYTES_MAX])
    raise AssertionError("abort returns")


def refusal_of(error: grpc.RpcError, who: str) -> RefusedError:
    """Translate a failed call into an error for the user.

    Args:
        error: The error of the call.
        who: Description of the called agent.
    """
    import grpc

    refusal = _sent_refusal(error)
    if refusal is not None:
        return refusal
    code, details = error.code(), error.details() or ""
    if code is grpc.StatusCode.UNIMPLEMENTED:
        hint = "bring both to the same version of fabricbench"
        return RefusedError("", f"{who}, which speaks another protocol", f"version {PROTOCOL}", hint)
    if code is grpc.StatusCode.UNAVAILABLE and _is_tls(details):
        hint = "`fabricbench hosts check` tells what is wrong with its certificate, or it with ours"
        return RefusedError("", f"no TLS connection to {who}: {details}", "", hint)
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
        hint = "is `fabricbench agent` running there, and does a firewall let it through?"
        return RefusedError("", f"no answer from {who}", "", hint)
    return RefusedError("", f"{who} failed: {code.name}: {details[:TEXT_BYTES_MAX]}")


def _sent_refusal(error: Any) -> RefusedError | None:
    """Return the refusal in the trailing metadata of a call, if any."""
    from google.protobuf.message import DecodeError

    from fabricbench.hosts.proto import agent_pb2 as pb

    for key, value in error.trailing_metadata() or ():
        if key == REFUSAL_KEY:
            try:
                message = pb.Refusal.FromString(value)
            except DecodeError:
                return None
            return RefusedError(message.field, message.found, message.allowed, message.hint)
    return None


def _is_tls(details: str) -> bool:
    words = ("ssl", "tls", "certificate", "handshake", "peer name")
    return any(word in details.lower() for word in words)


def tls_problem(address: Address, identity: Identity, name: str) -> RefusedError | None:
    """Find out which certificate is refused, the agent's or ours; gRPC does not report it.

    Returns:
        Nothing if both are accepted, or nothing answers.
    """
    import socket

    try:
        with (
            socket.create_connection((address.host, address.port), _CONNECT_S) as plain,
            _context(identity).wrap_socket(plain, server_hostname=name) as secured,
        ):
            certificate = ssl.DER_cert_to_PEM_cert(secured.getpeercert(binary_form=True) or b"").encode()
            is_refused = _is_refused(secured)
    except ssl.SSLCertVerificationError as error:
        hint = _JOIN if error.verify_code not in _VALIDITY_ERRORS else f"{_TIME} If so, {_JOIN}"
        actual = f"{address}, whose certificate is refused: {error.verify_message}"
        return RefusedError("", actual, "one of this controller's authority", hint)
    except ssl.SSLError as error:
        hint = "is its agent started without TLS, or another program?"
        return RefusedError("", f"{address}, which speaks no TLS: {error.reason}", "an agent with TLS", hint)
    except OSError:
        return None
    if (actual := common_name(certificate)) != name:
        hint = "the file of hosts names another host, or its address"
        return RefusedError("", f"{address}, which is {actual}", name, hint)
    if is_refused:
        actual = f"{address}, which refuses this controller's certificate"
        return RefusedError("", actual, "an agent that accepts it", f"{_TIME} If so, {_JOIN}")
    return None


def _context(identity: Identity) -> ssl.SSLContext:
    """Return a TLS context like that of gRPC for calls to an agent."""
    import tempfile

    context = ssl.create_default_context(cadata=identity.authority.decode())
    context.check_hostname = False
    context.set_alpn_protocols(["h2"])
    with tempfile.NamedTemporaryFile() as file:  # for this user only; a context loads keys only from files
        file.write(identity.certificate + identity.key)
        file.flush()
        context.load_cert_chain(file.name)
    return context


def _is_refused(secured: ssl.SSLSocket) -> bool:
    """Return whether the agent rejects our certificate.

    It checks the certificate after the handshake has ended on our side (RFC 8446, 2). A gRPC server then
    either closes the connection, with or without an alert, or sends the first bytes (RFC 9113, 3.4).
    """
    try:
        return not secured.recv(1)
    except TimeoutError:
        return False
    except OSError:
        return True

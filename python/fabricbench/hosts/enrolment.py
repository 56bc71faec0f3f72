"""Enrolment of a host with the controller: the host sends its one-time token and receives a certificate.

The host first requests the server's certificate, here that of the controller's certificate authority, and
compares its hash with the one in the token. Only then does it send the token, over TLS to the holder of that
certificate's key.
"""

from __future__ import annotations

import hmac
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from fabricbench.hosts.addresses import Address, parse_address
from fabricbench.hosts.certificates import (
    AUTHORITY,
    AgentFolder,
    Authority,
    Identity,
    fingerprint,
    new_request,
)
from fabricbench.hosts.channels import METADATA, abort, bind, refusal_of, server_credentials
from fabricbench.hosts.protocol import JOIN_PORT, OPTIONS, RefusedError
from fabricbench.hosts.tokens import Token, Tokens

if TYPE_CHECKING:
    import grpc

    from fabricbench.hosts.proto import agent_pb2 as pb

_JOIN_S: Final = 10.0
_WORKERS: Final = 4


class _Enrolment:
    """Signs the certificate requests of hosts with a token."""

    def __init__(self, authority: Authority, joined: Callable[[str], None]) -> None:
        self._authority = authority
        self._tokens = Tokens(authority.folder)
        self._joined = joined

    def Join(self, request: pb.JoinRequest, context: grpc.ServicerContext) -> pb.JoinReply:  # noqa: N802
        from fabricbench.hosts.proto import agent_pb2 as pb

        try:
            # Sign first: a request that cannot be signed must not use up the token.
            certificate = self._authority.sign_agent(self._tokens.name_of(request.token), request.request)
            name = self._tokens.redeem(request.token)
        except RefusedError as refusal:
            abort(context, refusal)
        self._joined(name)
        return pb.JoinReply(name=name, certificate=certificate, authority=self._authority.certificate)


def serve_enrolment(authority: Authority, listen: Address, joined: Callable[[str], None]) -> grpc.Server:
    """Let hosts join until the server is stopped.

    Args:
        authority: Authority that signs their certificates.
        listen: Address to listen at.
        joined: Called with the name of each host that has joined.

    Raises:
        RefusedError: The server cannot listen there.
    """
    import grpc

    from fabricbench.hosts.proto import agent_pb2_grpc

    server = grpc.server(ThreadPoolExecutor(_WORKERS), options=OPTIONS, maximum_concurrent_rpcs=64)
    agent_pb2_grpc.add_EnrolmentServicer_to_server(_Enrolment(authority, joined), server)
    bind(server, listen, server_credentials(authority.identity, require_client_auth=False))
    server.start()
    return server


def join(text: str, folder: AgentFolder) -> Identity:
    """Join with `TOKEN@HOST:PORT`, and store the certificate.

    Raises:
        RefusedError: The token is refused, or the server is not the authority of the token.
    """
    token_text, _, host_text = text.partition("@")
    token, address = Token.parse(token_text), parse_address(host_text, JOIN_PORT, "--join")
    authority = _authority_at(address, token)
    key, request = new_request()
    reply = _request_certificate(address, authority, token_text, request)
    folder.save(key, reply.certificate, authority)
    identity = folder.identity()
    if identity is None:
        raise AssertionError("what was saved is not there")
    return identity


def _authority_at(address: Address, token: Token) -> bytes:
    """Return the certificate of the server at an address, if it is the authority of a token."""
    try:
        certificate = ssl.get_server_certificate((address.host, address.port), timeout=_JOIN_S).encode()
    except OSError as error:
        hint = "`fabricbench hosts token` at the controller answers there as long as it runs"
        raise RefusedError("", f"no answer from {address}: {error}", "", hint) from error
    if not hmac.compare_digest(fingerprint(certificate)[: len(token.fingerprint)], token.fingerprint):
        hint = "somebody else answers there, or the token is of another controller"
        raise RefusedError("", f"another authority at {address}", "the one that made the token", hint)
    return certificate


def _request_certificate(address: Address, authority: bytes, token: str, request: bytes) -> pb.JoinReply:
    import grpc

    from fabricbench.hosts.proto import agent_pb2 as pb, agent_pb2_grpc

    options = (*OPTIONS, ("grpc.ssl_target_name_override", AUTHORITY))
    credentials = grpc.ssl_channel_credentials(authority)
    with grpc.secure_channel(address.target, credentials, options) as channel:
        stub = agent_pb2_grpc.EnrolmentStub(channel)
        try:
            reply: pb.JoinReply = stub.Join(
                pb.JoinRequest(token=token, request=request), timeout=_JOIN_S, metadata=METADATA
            )
        except grpc.RpcError as error:
            raise refusal_of(error, f"the controller at {address}") from error
        return reply

"""Traffic between namespaces of a lab, bounded in time: TCP in bulk, datagrams, who reaches whom."""

import socket
import threading
import time
from collections.abc import Sequence

from fabricbench.lab.kernel.namespaces import inside


def tcp_rate_bps(sender: str, receiver: str, address: str, seconds: float) -> float:
    """Return the payload rate at which a receiver takes a stream in, without its first fifth."""

    def listen() -> socket.socket:
        return socket.create_server((address, 0))

    with inside(receiver, listen) as server:
        port = server.getsockname()[1]
        client = inside(sender, lambda: socket.create_connection((address, port), timeout=5))
        stream, _ = server.accept()
        ending = time.monotonic() + seconds
        thread = threading.Thread(target=_send, args=(client, ending))
        thread.start()
        with stream:
            begun, bytes_before, received = time.monotonic() + seconds / 5, 0, 0
            while data := stream.recv(1 << 18):
                received += len(data)
                if time.monotonic() < begun:
                    bytes_before = received
            took = time.monotonic() - begun
        thread.join()
    return (received - bytes_before) * 8 / took


def _send(client: socket.socket, ending: float) -> None:
    block = bytes(1 << 18)
    with client:
        while time.monotonic() < ending:
            client.sendall(block)


def received_datagrams(
    sender: str, receiver: str, address: str, datagrams: Sequence[bytes], ecn: int = 0
) -> list[int]:
    """Send datagrams, each from a source port of its own, and return the ECN bits of those that come."""

    def bind() -> socket.socket:
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        server.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        server.bind((address, 4791))
        server.settimeout(0.5)
        return server

    def send() -> None:
        for datagram in datagrams:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
                client.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, ecn)
                client.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER: never fragment
                client.sendto(datagram, (address, 4791))

    marks: list[int] = []
    with inside(receiver, bind) as server:
        inside(sender, send)
        while len(marks) < len(datagrams):
            try:
                _, control, _, _ = server.recvmsg(1 << 16, 64)
            except TimeoutError:
                break
            marks.append(control[0][2][0] & 3)
    return marks

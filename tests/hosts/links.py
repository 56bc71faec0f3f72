"""Two hosts with a network between them that can go wrong: a cable each to a router."""

from __future__ import annotations

from tests.hosts.processes import Namespace

MTU = 4500


class Routed:
    """A namespace for each of two hosts and one for the router between them.

    Args:
        options: More of unshare(1) for each host, such as a time namespace.
    """

    def __init__(self, *options: tuple[str, ...]) -> None:
        self.hosts = [Namespace(*each) for each in options or ((), ())]
        self.router = Namespace()
        for number, host in enumerate(self.hosts):
            peer = ("peer", "name", f"port{number}", "mtu", str(MTU), "netns", str(self.router.pid))
            host.ip("link", "add", "eth0", "mtu", str(MTU), "type", "veth", *peer)
            host.ip("address", "add", f"{self.address(number)}/24", "dev", "eth0")
            self.router.ip("address", "add", f"10.97.{number}.254/24", "dev", f"port{number}")
            self.router.ip("link", "set", f"port{number}", "up")
            host.ip("link", "set", "eth0", "up")
            host.ip("route", "add", "10.97.0.0/16", "via", f"10.97.{number}.254")
        self.router.run("sysctl", "-qw", "net.ipv4.ip_forward=1")

    def address(self, number: int) -> str:
        """The data address of a host."""
        return f"10.97.{number}.1"

    def enter(self, number: int) -> list[str]:
        """What comes before the command of an agent."""
        return self.hosts[number].enter(0)

    def set_link(self, number: int, state: str) -> None:
        """Set the router's end of a host's cable up or down: the host sees its carrier come and go."""
        self.router.ip("link", "set", f"port{number}", state)

    def sent_datagrams(self) -> int:
        """Return how many UDP datagrams the hosts have sent."""
        return sum(host.sent_datagrams() for host in self.hosts)

    def end(self) -> None:
        """Remove it."""
        for each in (*self.hosts, self.router):
            each.end()

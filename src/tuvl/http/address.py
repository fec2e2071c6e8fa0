"""Which hosts and addresses an HTTP call may reach; judged by name before, and by address when connecting."""

import ipaddress
import re
from functools import lru_cache
from typing import TypeAlias

from tuvl.dataclass import dataclass

IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_V4_COMPATIBLE = ipaddress.IPv6Network("::/96")

_MORE_REFUSED = tuple(
    map(
        ipaddress.ip_network,
        (
            "0.0.0.0/8",
            "100.64.0.0/10",  # carrier-grade NAT, and where one cloud keeps its metadata
            "168.63.129.16/32",  # a cloud's host agent on an address that looks public
            "192.0.0.0/24",
            "192.88.99.0/24",
            "198.18.0.0/15",
            "240.0.0.0/4",
            "64:ff9b:1::/48",
            "2001::/23",
            "fec0::/10",
        ),
    )
)
"""Networks that are not the public internet, though Python's `is_global` says so for some, or did in some versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressPolicy:
    """Hosts and addresses that may be reached.

    Patterns are a host, a `host:port` or an address, `*` standing for any text: `*.example.com`, `127.0.0.1:8080`,
    `[::1]:*`. Case does not matter. `only_hosts`, when given, refuses every host it does not name.
    """

    allow_hosts: tuple[str, ...] = ()
    deny_private: bool = True
    only_hosts: tuple[str, ...] | None = None

    def covers(self, host: str, port: int) -> bool:
        """Whether `allow_hosts` names this host."""
        return _matches(self.allow_hosts, host, port)

    def permits_host(self, host: str, port: int) -> bool:
        """Whether this host may be asked for at all; its address is judged later."""
        return self.only_hosts is None or _matches(self.only_hosts, host, port)

    def permits_address(self, host: str, port: int, address: IpAddress) -> bool:
        """Whether a connection to `address` may be made for the sake of `host`."""
        if not self.deny_private or is_public(address):
            return True
        return self.covers(host, port) or self.covers(str(address), port)


def is_public(address: IpAddress) -> bool:
    """Whether an address belongs to the public internet, the IPv4 address inside an IPv6 one included."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = _embedded(address)
        if inner is not None:
            return is_public(inner)
    if not address.is_global or address.is_multicast or address.is_reserved or address.is_unspecified:
        return False
    return not any(address in network for network in _MORE_REFUSED if network.version == address.version)


def _embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address in _NAT64 or (address in _V4_COMPATIBLE and int(address) > 1):
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return None


def _matches(patterns: tuple[str, ...], host: str, port: int) -> bool:
    name = host.strip("[]").rstrip(".").lower()
    return any(wanted.fullmatch(f"{name} {port}") for wanted in map(_pattern, patterns))


@lru_cache(maxsize=1024)
def _pattern(text: str) -> re.Pattern[str]:
    """Turn `host`, `host:port`, an address or `[address]:port` into a pattern over `host port`."""
    text = text.strip().lower()
    bracketed = re.fullmatch(r"\[(.*)\](?::(\d+|\*))?", text)
    if bracketed:
        host, port = bracketed[1], bracketed[2]
    elif text.count(":") == 1:
        host, port = text.split(":")
    else:
        host, port = text, None  # a bare IPv6 address has more colons
    return re.compile(f"{_glob(host.rstrip('.'))} {_glob(port or '*')}")


def _glob(text: str) -> str:
    return ".*".join(re.escape(part) for part in text.split("*"))

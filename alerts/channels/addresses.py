"""Which internet addresses a message may go to.

Pure. The table is written out because `ipaddress.is_global` calls several of these global, among
them multicast, cloud metadata services and IPv6 forms of private IPv4 addresses.
"""

from __future__ import annotations

import ipaddress

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# Reachable only when the receiver says private_addresses_allowed.
_PRIVATE = {
    "127.0.0.0/8": "loopback",
    "10.0.0.0/8": "private",
    "172.16.0.0/12": "private",
    "192.168.0.0/16": "private",
    "100.64.0.0/10": "shared between networks",
    "::1/128": "loopback",
    "fc00::/7": "private",
    "fec0::/10": "private",
}
# Never a receiver of messages.
_FORBIDDEN = {
    "0.0.0.0/8": "unspecified",
    "169.254.0.0/16": "link-local or metadata service",
    "168.63.129.16/32": "metadata service",
    "100.100.100.200/32": "metadata service",
    "192.0.0.0/24": "special purpose",
    "192.0.2.0/24": "documentation",
    "192.88.99.0/24": "special purpose",
    "198.18.0.0/15": "benchmarking",
    "198.51.100.0/24": "documentation",
    "203.0.113.0/24": "documentation",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": "reserved or broadcast",
    "::/128": "unspecified",
    "64:ff9b:1::/48": "translation prefix of a private network",
    "100::/64": "discard",
    "2001::/23": "special purpose",
    "2001:db8::/32": "documentation",
    "3fff::/20": "documentation",
    "5f00::/16": "special purpose",
    "fd00:ec2::/32": "metadata service",
    "fd20:ce::254/128": "metadata service",
    "fe80::/10": "link-local",
    "ff00::/8": "multicast",
}
# IPv6 forms that carry an IPv4 address, and the bits that follow it.
_CARRIERS = {
    "::ffff:0:0/96": 0,
    "::ffff:0:0:0/96": 0,
    "64:ff9b::/96": 0,
    "::/96": 0,
    "2002::/16": 80,
}


def _table(rows: dict[str, str]) -> tuple[tuple[_Network, str], ...]:
    return tuple((ipaddress.ip_network(network), kind) for network, kind in rows.items())


_PRIVATE_TABLE = _table(_PRIVATE)
_FORBIDDEN_TABLE = _table(_FORBIDDEN)
_CARRIER_TABLE = tuple((ipaddress.IPv6Network(net), shift) for net, shift in _CARRIERS.items())


def refusal(address: Address, *, private_allowed: bool) -> str | None:
    """Why nothing may be sent to this address, or None when it may.

    An IPv6 address that carries an IPv4 one is judged as the latter. `private_allowed` opens
    loopback and private networks, never metadata services, link-local or multicast addresses.
    """
    address = carried(address)
    forbidden = _kind(address, _FORBIDDEN_TABLE)
    if forbidden is not None:
        return f"{address} is {forbidden}: no message is sent there"
    private = _kind(address, _PRIVATE_TABLE)
    if private is not None and not private_allowed:
        return (
            f"{address} is {private}; if that is meant, "
            "set private_addresses_allowed: true for this receiver"
        )
    return None


def carried(address: Address) -> Address:
    """The IPv4 address inside an IPv6 one, else the address itself."""
    if isinstance(address, ipaddress.IPv4Address) or int(address) <= 1:
        return address
    for network, shift in _CARRIER_TABLE:
        if address in network:
            return ipaddress.IPv4Address((int(address) >> shift) & 0xFFFFFFFF)
    return address


def _kind(address: Address, table: tuple[tuple[_Network, str], ...]) -> str | None:
    return next((kind for network, kind in table if address in network), None)

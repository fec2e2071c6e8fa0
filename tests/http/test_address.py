"""Which addresses are the public internet, and which hosts a project allows."""

import ipaddress

import pytest

from tuvl.http.address import AddressPolicy, is_public

REFUSED = [
    "127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.100.100.200",
    "168.63.129.16", "192.0.0.192", "198.18.0.1", "224.0.0.1", "255.255.255.255", "240.0.0.1",
    "::1", "::", "fe80::1", "fd00:ec2::254", "fec0::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
    "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2001::1",
    "64:ff9b:1::1", "2001:db8::1",
]  # fmt: skip

PUBLIC = ["1.1.1.1", "8.8.8.8", "93.184.216.34", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]


@pytest.mark.parametrize("text", REFUSED)
def test_address_that_is_not_the_public_internet_is_refused(text):
    address = ipaddress.ip_address(text)
    assert not is_public(address)
    assert not AddressPolicy().permits_address("some.host", 443, address)
    assert AddressPolicy(deny_private=False).permits_address("some.host", 443, address)


@pytest.mark.parametrize("text", PUBLIC)
def test_public_address_is_permitted(text):
    assert AddressPolicy().permits_address("some.host", 443, ipaddress.ip_address(text))


@pytest.mark.parametrize(
    ("pattern", "host", "port", "covered"),
    [
        ("shop.local", "shop.local", 80, True),
        ("shop.local", "SHOP.local.", 8080, True),
        ("shop.local", "evil-shop.local", 80, False),
        ("shop.local", "shop.local.evil.com", 80, False),
        ("shop.local:8080", "shop.local", 8080, True),
        ("shop.local:8080", "shop.local", 80, False),
        ("*.example.com", "a.b.example.com", 443, True),
        ("*.example.com", "example.com", 443, False),
        ("*.example.com", "example.com.evil.org", 443, False),
        ("a.c", "abc", 80, False),
        ("127.0.0.1:9000", "127.0.0.1", 9000, True),
        ("[::1]:9000", "::1", 9000, True),
        ("[::1]:9000", "[::1]", 9001, False),
        ("::1", "::1", 1, True),
        ("[::1]:*", "::1", 77, True),
        ("*", "anything", 1, True),
    ],
)
def test_pattern_covers_host_and_port(pattern, host, port, covered):
    assert AddressPolicy(allow_hosts=(pattern,)).covers(host, port) is covered


def test_allowed_host_or_allowed_address_may_be_private():
    loopback = ipaddress.ip_address("127.0.0.1")
    assert AddressPolicy(allow_hosts=("shop.local",)).permits_address("shop.local", 80, loopback)
    assert AddressPolicy(allow_hosts=("127.0.0.1:80",)).permits_address("localhost", 80, loopback)
    assert not AddressPolicy(allow_hosts=("127.0.0.1:80",)).permits_address("localhost", 81, loopback)


def test_only_hosts_closes_everything_else():
    policy = AddressPolicy(only_hosts=("api.example.com",))
    assert policy.permits_host("api.example.com", 443)
    assert not policy.permits_host("other.example.com", 443)
    assert AddressPolicy().permits_host("other.example.com", 443)
    assert not AddressPolicy(only_hosts=()).permits_host("api.example.com", 443)

"""The Model Context Protocol, both ways: calls to the tools of servers, and our own tools served to clients."""

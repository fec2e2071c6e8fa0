"""The paths of the API: each reads a request, asks one service, and writes its answer."""

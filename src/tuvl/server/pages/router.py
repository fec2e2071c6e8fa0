"""The pages for browsers, under paths of their own; each asks `services.sessions` who its reader is."""

from fastapi import APIRouter

from tuvl.server.services import Services


def pages_router(services: Services) -> APIRouter:
    """Return the paths of the pages."""
    return APIRouter(include_in_schema=False)

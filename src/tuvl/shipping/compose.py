"""The compose file of a bundle: one service a workflow, each started by hand with an input."""

from tuvl.shipping.release import STATE_IN_IMAGE, USER_ID, Release, default_image
from tuvl.source.yaml_text import to_yaml
from tuvl.values import JsonObject

FILE = "compose.yaml"


def compose(release: Release) -> str:
    """Write the compose file."""
    head = (
        "# Written by `tuvl ship`; the next one writes it anew. One run of a workflow, its input from a file:\n"
        f"#   docker compose run --rm -T {release.workflows[0].name} < input.json\n"
        "# Variables are taken from the shell, or from a file: docker compose --env-file FILE …\n"
    )
    services: JsonObject = {one.name: _service(release, one.name) for one in release.workflows}
    name = default_image(release.bundle.manifest.name, "").partition(":")[0]
    return head + to_yaml({"name": name, "services": services, "volumes": {"state": {}}}, prose=True)


def _service(release: Release, workflow: str) -> JsonObject:
    return {
        "image": release.image,
        "build": {"context": "."},
        # Without the profile nothing is started by `up`: a run wants an input.
        "profiles": ["run"],
        "command": [*release.arguments(workflow, input="-")],
        "stdin_open": True,
        "init": True,
        "user": f"{USER_ID}:{USER_ID}",
        "read_only": True,
        "tmpfs": ["/tmp"],
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "mem_limit": "1g",
        "cpus": 1.0,
        "pids_limit": 256,
        "environment": [variable.name for variable in release.needs.variables],
        "volumes": [f"state:{STATE_IN_IMAGE}"],
    }

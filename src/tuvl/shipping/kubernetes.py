"""The Kubernetes manifests of a bundle: a job a workflow, on its schedule where it has one, with nobody's rights."""

import json
import math
import re

from tuvl.shipping.needs import VariableNeed
from tuvl.shipping.release import BUNDLE_IN_IMAGE, STATE_IN_IMAGE, USER_ID, Release, WorkflowFacts, dns_label
from tuvl.source.yaml_text import to_yaml
from tuvl.values import JsonObject, JsonValue

FILE = "kubernetes.yaml"

_INPUTS = "/inputs"
_GRACE_S = 60
"""Seconds beyond the limit of a run, for its start and its end."""
_KEPT_S = 86_400
"""Seconds that a finished job is kept."""


def kubernetes(release: Release) -> str:
    """Write the manifests, one document after another."""
    documents = [
        _service_account(release),
        _inputs(release),
        *(_cron_job(release, one) if one.schedule else _job(release, one) for one in release.workflows),
    ]
    return _head(release) + "---\n".join(to_yaml(document, prose=True) for document in documents)


def _head(release: Release) -> str:
    wanted = [variable.name for variable in release.needs.variables if not variable.optional]
    literals = "".join(f" --from-literal={name}=…" for name in wanted)
    return (
        "# Written by `tuvl ship`; the next one writes it anew.\n"
        "# Before: push the image where the cluster finds it (`tuvl ship --image REGISTRY/NAME:TAG` names it), and\n"
        f"#   kubectl create secret generic {_secrets(release)}{literals}\n"
        "# A workflow that wants an input is suspended: put it into the ConfigMap below, then set `suspend: false`.\n"
    )


def _app(release: Release) -> str:
    return dns_label(release.bundle.manifest.name)


def _secrets(release: Release) -> str:
    return f"{_app(release)}-secrets"


def _meta(release: Release, name: str) -> JsonObject:
    version = re.sub(r"[^A-Za-z0-9_.-]", "-", release.bundle.manifest.version)[:63].strip("-_.")
    return {
        "name": name,
        "labels": {
            "app.kubernetes.io/name": _app(release),
            "app.kubernetes.io/version": version,
            "app.kubernetes.io/managed-by": "tuvl",
        },
        "annotations": {"tuvl/bundle-digest": release.bundle.digest},
    }


def _service_account(release: Release) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": _meta(release, _app(release)),
        "automountServiceAccountToken": False,
    }


def _inputs(release: Release) -> JsonObject:
    data: JsonObject = {
        _input_file(one): json.dumps(one.example or {}, ensure_ascii=False, indent=2) + "\n"
        for one in release.workflows
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _meta(release, f"{_app(release)}-inputs"),
        "data": data,
    }


def _input_file(workflow: WorkflowFacts) -> str:
    return f"{workflow.name}.json"


def _job(release: Release, workflow: WorkflowFacts) -> JsonObject:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        # A job cannot be changed once it is there, so each release has its own.
        "metadata": _meta(release, dns_label(_app(release), workflow.name, release.bundle.manifest.version)),
        "spec": {"suspend": workflow.needs_input, **_job_spec(release, workflow)},
    }


def _cron_job(release: Release, workflow: WorkflowFacts) -> JsonObject:
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": _meta(release, dns_label(_app(release), workflow.name)),
        "spec": {
            "schedule": cron_of_kubernetes(workflow.schedule or ""),
            "timeZone": workflow.timezone,
            "suspend": workflow.needs_input,
            # A run that takes longer than its interval is not run twice at once.
            "concurrencyPolicy": "Forbid",
            "jobTemplate": {"spec": _job_spec(release, workflow)},
        },
    }


def cron_of_kubernetes(schedule: str) -> str:
    """Write a cron expression as Kubernetes takes it: there, Sunday is 0 and never 7."""
    *fields, weekday = schedule.split()
    return " ".join([*fields, ",".join(map(_weekdays, weekday.split(",")))])


def _weekdays(part: str) -> str:
    days, _, step = part.partition("/")
    found = re.fullmatch(r"([0-7])(?:-([0-7]))?", days)
    if found is None or "7" not in days:
        return part
    first, last = int(found[1]), int(found[2] or (7 if step else found[1]))
    return ",".join(dict.fromkeys(str(day % 7) for day in range(first, last + 1, int(step or 1))))


def _job_spec(release: Release, workflow: WorkflowFacts) -> JsonObject:
    deadline: JsonObject = {}
    if workflow.timeout_s is not None:
        deadline = {"activeDeadlineSeconds": math.ceil(workflow.timeout_s) + _GRACE_S}
    return {
        # What a run did before it failed is not undone, so it is not simply run again.
        "backoffLimit": 0,
        "ttlSecondsAfterFinished": _KEPT_S,
        **deadline,
        "template": {
            "metadata": {"labels": {"app.kubernetes.io/name": _app(release)}},
            "spec": _pod(release, workflow),
        },
    }


def _pod(release: Release, workflow: WorkflowFacts) -> JsonObject:
    check = _container(release, "verify", ["validate", "--quiet", BUNDLE_IN_IMAGE])
    run = _container(release, "run", release.arguments(workflow.name, input=f"{_INPUTS}/{_input_file(workflow)}"))
    environment: list[JsonValue] = [_variable(release, variable) for variable in release.needs.variables]
    return {
        "restartPolicy": "Never",
        "serviceAccountName": _app(release),
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER_ID,
            "runAsGroup": USER_ID,
            "fsGroup": USER_ID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "initContainers": [check],
        "containers": [{**run, "env": environment}],
        "volumes": [
            {"name": "tmp", "emptyDir": {}},
            # Lost with the pod: what is to last goes to the database of TUVL_DATABASE_URL.
            {"name": "state", "emptyDir": {}},
            {"name": "inputs", "configMap": {"name": f"{_app(release)}-inputs"}},
        ],
    }


def _container(release: Release, name: str, arguments: list[str]) -> JsonObject:
    return {
        "name": name,
        "image": release.image,
        "args": [*arguments],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "resources": {
            "requests": {"cpu": "100m", "memory": "256Mi"},
            "limits": {"cpu": "1", "memory": "1Gi"},
        },
        "volumeMounts": [
            {"name": "tmp", "mountPath": "/tmp"},
            {"name": "state", "mountPath": STATE_IN_IMAGE},
            {"name": "inputs", "mountPath": _INPUTS, "readOnly": True},
        ],
    }


def _variable(release: Release, variable: VariableNeed) -> JsonObject:
    key: JsonObject = {"name": _secrets(release), "key": variable.name}
    return {"name": variable.name, "valueFrom": {"secretKeyRef": {**key, "optional": variable.optional}}}

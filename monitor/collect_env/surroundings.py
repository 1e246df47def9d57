"""What environment variables, the container and the checkout tell. The environment is handed in."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

from monitor.collect_env.collected import Facts
from monitor.intake.claimed_tags import claimed_tags, told_version

_DIGEST = re.compile(r"(?:.*@)?(sha256:[0-9a-f]{64})", re.ASCII)
_CONTAINER = re.compile(r"[0-9a-f]{64}", re.ASCII)
GIT_SECONDS = 10
RESOURCE = {"deployment.environment.name": "environment", "deployment.environment": "environment",
            "cloud.region": "region", "host.type": "instance_type",
            "vcs.ref.head.revision": "code_revision"}  # fmt: skip
"""Resource attributes of OpenTelemetry that are tags of ours."""
VARIABLES = {"AWS_REGION": "region", "AWS_DEFAULT_REGION": "region", "GIT_COMMIT": "code_revision",
             "SOURCE_COMMIT": "code_revision", "OMP_NUM_THREADS": "threads",
             "NODE_INSTANCE_TYPE": "instance_type", "ENVIRONMENT": "environment"}  # fmt: skip
DIGESTS = ("IMAGE_DIGEST", "CONTAINER_IMAGE_DIGEST", "OCI_MANIFEST_DIGEST")
DOWNWARD = {"POD_NAME": "k8s.pod.name", "POD_NAMESPACE": "k8s.namespace.name",
            "NODE_NAME": "k8s.node.name", "POD_UID": "k8s.pod.uid"}  # fmt: skip
JOINS = ("service.instance.id", "k8s.pod.name", "host.name")
"""What producers may be found by, the surest first. One is taken: all joins have to match."""


def surroundings(
    environ: Mapping[str, str], host: str, root: Path = Path("/"), folder: Path = Path()
) -> tuple[Facts, dict[str, str]]:
    """Facts of the process's surroundings, and the mark that its requests can be found by.

    Variables of Kubernetes' downward API are POD_NAME, POD_NAMESPACE, NODE_NAME and POD_UID.
    """
    resource = resource_attributes(environ.get("OTEL_RESOURCE_ATTRIBUTES", ""))
    tags = {tag: environ[name] for name, tag in VARIABLES.items() if environ.get(name)}
    revision = git_revision(folder)
    if revision is not None:
        tags.setdefault("code_revision", revision)
    tags |= {tag: resource[name] for name, tag in RESOURCE.items() if resource.get(name)}
    tags |= claimed_tags(resource)
    marks = {
        name: environ[variable] for variable, name in DOWNWARD.items() if environ.get(variable)
    }
    marks |= {name: resource[name] for name in (*JOINS, *DOWNWARD.values()) if resource.get(name)}
    marks.setdefault("host.name", host)
    digest, notes = image_digest(environ, resource)
    if digest is not None:
        tags["image_digest"] = digest
    known = {name: said for name, value in tags.items() if (said := told_version(value))}
    evidence = {"marks": marks, "container_id": container_id(root), "git": revision}
    usable = {name: said for name in JOINS if (said := told_version(marks.get(name)))}
    joins = dict(list(usable.items())[:1])
    return Facts(known, evidence, notes), joins


def resource_attributes(written: str) -> dict[str, str]:
    """OTEL_RESOURCE_ATTRIBUTES: `name=value` parted by commas, values percent-encoded."""
    found: dict[str, str] = {}
    for pair in written.split(","):
        name, sign, value = pair.partition("=")
        if sign and name.strip():
            found[name.strip()] = unquote(value.strip())
    return found


def image_digest(
    environ: Mapping[str, str], resource: Mapping[str, str]
) -> tuple[str | None, tuple[str, ...]]:
    """The digest of the container's image. A tag such as `:v3` is no digest: it can move."""
    told = [environ[name] for name in DIGESTS if environ.get(name)]
    told += [resource[name] for name in ("oci.manifest.digest", "container.image.repo_digests",
                                         "container.image.id") if resource.get(name)]  # fmt: skip
    for text in told:
        found = _DIGEST.fullmatch(text.strip(" []\"'"))
        if found is not None:
            return found[1], ()
    if told:
        return None, ("the image is unknown: what is told of it is no sha256 digest",)
    return None, ()


def container_id(root: Path) -> str | None:
    """The id of the container that this runs in; None outside of one."""
    for name in ("proc/self/cgroup", "proc/self/mountinfo"):
        try:
            lines = (root / name).read_text(errors="replace").splitlines()
        except OSError:
            continue
        for line in lines:
            found = _CONTAINER.search(line)
            if found is not None and any(w in line for w in ("docker", "kubepods", "containers")):
                return found[0]
    return None


def git_revision(folder: Path) -> str | None:
    """`git describe --always --dirty` of the folder; None outside of a checkout or without git."""
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40",
               "--exclude=*"]  # fmt: skip
    try:
        done = subprocess.run(  # noqa: S603 - git on a folder that the person names
            command, capture_output=True, text=True, timeout=GIT_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None

"""What the charm asks of Kubernetes: ports of its Service, limits of its StatefulSet."""

import logging

import lightkube
from lightkube.core.exceptions import ApiError, ConfigError
from lightkube.models.core_v1 import ServicePort, ServiceSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import StatefulSet
from lightkube.resources.core_v1 import Pod, Service
from lightkube.types import PatchType

logger = logging.getLogger(__name__)

FIELD_MANAGER = "kuby"


class ClusterError(Exception):
    """What Kubernetes can't be asked, in words for a status."""


class Cluster:
    """The application's objects in its namespace, which is named as the model is."""

    def __init__(self, namespace: str, application: str):
        self._namespace, self._application = namespace, application

    def _client(self) -> lightkube.Client:
        """Connect as the pod's service account, whose files and variables are the pod's."""
        try:
            return lightkube.Client(namespace=self._namespace, field_manager=FIELD_MANAGER)
        except ConfigError as e:
            raise ClusterError("there is no Kubernetes API: deploy with --trust") from e

    def set_service_port(self, port: int) -> bool:
        """Make the port the Service's only one, and say whether that has changed it."""
        client = self._client()
        try:
            service = client.get(Service, self._application)
            have = [(p.name, p.port) for p in (service.spec and service.spec.ports) or []]
            name = f"{self._application}-web"
            if have == [(name, port)]:
                return False
            patch = Service(
                metadata=ObjectMeta(name=self._application),
                spec=ServiceSpec(ports=[ServicePort(name=name, port=port, targetPort=port)]),
            )
            # A merge patch replaces lists: no other port stays.
            client.patch(Service, self._application, patch, patch_type=PatchType.MERGE)
        except ApiError as e:
            raise self._reason(e) from e
        logger.info("the Service has the port %d", port)
        return True

    def set_memory_limit(self, container: str, limit: str) -> bool:
        """Allow the container that much memory (empty: any), and say whether that is news.

        A change makes all pods anew, this one too.
        """
        client = self._client()
        try:
            have = self._limit(client.get(StatefulSet, self._application), container)
            if have == limit:
                return False
            limits = {"memory": limit} if limit else {}
            # Server-side apply: what this manager doesn't name any more goes, and
            # what others have set stays.
            patch = {
                "apiVersion": "apps/v1",
                "kind": "StatefulSet",
                "metadata": {"name": self._application, "namespace": self._namespace},
                "spec": {"template": {"spec": {"containers": [
                    {"name": container, "resources": {"limits": limits}},
                ]}}},
            }
            client.patch(
                StatefulSet,
                self._application,
                patch,  # not a StatefulSet object, which would have to have a selector too
                patch_type=PatchType.APPLY,
                field_manager=FIELD_MANAGER,
                force=True,
            )
        except ApiError as e:
            raise self._reason(e) from e
        logger.info("the container %s may have %s of memory", container, limit or "any amount")
        return True

    def describe(self, pod: str, container: str) -> dict[str, str]:
        """Return what Kubernetes says of the application and one of its pods."""
        client = self._client()
        try:
            service = client.get(Service, self._application)
            stateful_set = client.get(StatefulSet, self._application)
            status = client.get(Pod, pod).status
        except ApiError as e:
            raise self._reason(e) from e
        ports = (service.spec and service.spec.ports) or []
        return {
            "ports": " ".join(str(p.port) for p in ports),
            "cluster-ip": (service.spec and service.spec.clusterIP) or "",
            "memory-limit": self._limit(stateful_set, container),
            "pod-ip": (status and status.podIP) or "",
        }

    @staticmethod
    def _limit(stateful_set: StatefulSet, container: str) -> str:
        template = stateful_set.spec.template.spec if stateful_set.spec else None
        for c in template.containers if template else []:
            if c.name == container and c.resources and c.resources.limits:
                return c.resources.limits.get("memory", "")
        return ""

    def _reason(self, e: ApiError) -> ClusterError:
        if e.status.code in (401, 403):
            return ClusterError(
                f"Kubernetes refuses it: juju trust {self._application} --scope=cluster"
            )
        return ClusterError(f"Kubernetes says: {e.status.message}")

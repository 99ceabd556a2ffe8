"""What charms do with lightkube, through its default constructor: what the public
libraries that patch services and resources do, and what charms do by themselves.

It prints a line for each step; the first that fails ends it.
"""
import ssl
import sys
import threading

from lightkube import ApiError, Client
from lightkube.codecs import load_all_yaml
from lightkube.models.apps_v1 import StatefulSetSpec
from lightkube.models.core_v1 import (
    Container,
    EnvVar,
    PodSpec,
    PodTemplateSpec,
    ResourceRequirements,
    ServicePort,
    ServiceSpec,
)
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment, StatefulSet
from lightkube.resources.core_v1 import ConfigMap, Namespace, Node, Pod, Secret, Service
from lightkube.types import PatchType
from lightkube.utils.quantity import equals_canonically

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def refused(code, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except ApiError as e:
        assert e.status.code == code, e.status
        return e.status
    raise AssertionError(f"{call} wasn't refused")


def service_ports(client):
    """The application's service is merged into, then applied to, then made anew."""
    ours = Service(
        metadata=ObjectMeta(name="web", namespace="dev", labels={"app.kubernetes.io/name": "web"}),
        spec=ServiceSpec(selector={"app.kubernetes.io/name": "web"}, ports=[ServicePort(8080, name="http", targetPort=8080)]),
    )

    def ports():
        return [(p.port, p.targetPort) for p in client.get(Service, "web", namespace="dev").spec.ports]

    assert ports() == [(65535, 65535)], ports()
    client.patch(Service, "web", ours, patch_type=PatchType.MERGE)
    assert ports() == [(8080, 8080)], ports()
    client.patch(Service, "web", ours, patch_type=PatchType.APPLY, field_manager="web")
    client.patch(Service, "web", ours, patch_type=PatchType.APPLY, field_manager="web")
    assert ports() == [(8080, 8080)], ports()
    old = client.get(Service, "web")
    old.metadata.name = "web-extra"
    old.metadata.resourceVersion = old.metadata.uid = None
    client.delete(Service, "web", namespace="dev")
    client.create(old)
    refused(404, client.get, Service, "web")
    client.create(ours)
    ours.metadata.name, ours.spec.type = "web-lb", "LoadBalancer"
    client.create(ours)
    found = sorted(s.metadata.name for s in client.list(Service, labels={"app.kubernetes.io/name": "web"}) if s.spec.type == "LoadBalancer")
    assert found == ["web-lb"], found
    client.delete(Service, "web-lb")
    refused(404, client.delete, Service, "web-lb")


def resources_of(containers, name):
    return next(c for c in containers if c.name == name).resources


def compute_resources(client):
    """The stateful set's container is given limits: the pod has them once it is new."""
    wanted = ResourceRequirements(limits={"cpu": "500m", "memory": "1Gi"}, requests={"cpu": "0.5", "memory": "1024Mi"})
    current = client.get(StatefulSet, name="web", namespace="dev")
    delta = StatefulSet(
        spec=StatefulSetSpec(
            selector=current.spec.selector,
            serviceName=current.spec.serviceName,
            template=PodTemplateSpec(spec=PodSpec(containers=[Container(name="httpd", resources=wanted)])),
        )
    )

    def templated():
        return resources_of(client.get(StatefulSet, "web").spec.template.spec.containers, "httpd")

    def actual():
        return resources_of(client.get(Pod, "web-0").spec.containers, "httpd")

    assert not equals_canonically(templated(), wanted)
    client.patch(StatefulSet, "web", delta, namespace="dev", patch_type=PatchType.APPLY, field_manager="ResourcePatcher", dry_run=True)
    assert not equals_canonically(templated(), wanted)
    client.patch(StatefulSet, "web", delta, namespace="dev", patch_type=PatchType.APPLY, field_manager="ResourcePatcher")
    assert equals_canonically(templated(), wanted), templated()
    assert not equals_canonically(actual(), wanted), actual()
    print("churn", flush=True)
    sys.stdin.readline()
    assert equals_canonically(actual(), wanted), actual()


def template(client):
    """Strategic merge, JSON patch, and a conflict."""
    client.patch(
        StatefulSet, "web",
        {"spec": {"template": {"spec": {"containers": [{"name": "httpd", "env": [{"name": "A", "value": "1"}]}]}}}},
    )
    patched = client.get(StatefulSet, "web").spec.template.spec.containers
    assert [c.name for c in patched] == ["charm", "httpd"], patched
    assert EnvVar("A", "1") in patched[1].env and patched[1].image == "httpd:2", patched
    pointer = "/".join(["", "spec", "template", "metadata", "annotations", "restarted"])
    client.patch(StatefulSet, "web", [{"op": "add", "path": pointer, "value": "now"}], patch_type=PatchType.JSON)
    assert client.get(StatefulSet, "web").spec.template.metadata.annotations["restarted"] == "now"
    image = {
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"},
        "spec": {"template": {"spec": {"containers": [{"name": "httpd", "image": "other"}]}}},
    }
    status = refused(409, client.patch, StatefulSet, "web", image, patch_type=PatchType.APPLY, field_manager="x")
    assert 'conflict with "juju"' in status.message, status
    refused(422, client.patch, StatefulSet, "web", {"spec": {"replicas": 7}})


def pods(client):
    names = [p.metadata.name for p in client.list(Pod, labels={"app.kubernetes.io/name": "web"})]
    assert names == ["web-0", "web-1"], names
    pod = client.get(Pod, "web-0", namespace="dev")
    assert pod.status.podIP == "10.1.0.1" and pod.metadata.labels["apps.kubernetes.io/pod-index"] == "0", pod
    assert [c.status for c in pod.status.conditions if c.type == "Ready"] == ["True"]
    client.patch(Pod, "web-0", Pod(metadata=ObjectMeta(labels={"role": "primary"})), patch_type=PatchType.APPLY, field_manager="web", force=True)
    assert [p.metadata.name for p in client.list(Pod, labels={"role": ["primary"]})] == ["web-0"]
    pod = client.get(Pod, "web-1")
    pod.metadata.labels["role"] = "replica"
    client.replace(pod)
    assert len(list(client.list(Pod, fields={"metadata.name": "web-1"}, namespace="*"))) == 1


def own_objects(client):
    made = client.create(ConfigMap(metadata=ObjectMeta(name="c", labels={"of": "test"}), data={"k": "1"}))
    made.data["k"] = "2"
    client.replace(made)
    stale = refused(409, client.replace, made)
    assert stale.reason == "Conflict", stale
    refused(409, client.create, ConfigMap(metadata=ObjectMeta(name="c")))
    client.create(Secret(metadata=ObjectMeta(name="s"), stringData={"password": "hush"}))
    assert client.get(Secret, "s").data == {"password": "aHVzaA=="}
    for o in load_all_yaml("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d, labels: {of: test}}\ndata: {x: y}\n"):
        client.apply(o, field_manager="test", force=True)
        client.apply(o, field_manager="test", force=True)
    assert sorted(c.metadata.name for c in client.list(ConfigMap, labels={"of": "test"})) == ["c", "d"]


def watch(client):
    """From the list on, each change; and wait, which begins with the field selector."""
    seen = client.list(ConfigMap)
    list(seen)
    events = client.watch(ConfigMap, resource_version=seen.resourceVersion)
    threading.Timer(0, lambda: client.patch(ConfigMap, "c", {"data": {"k": "3"}})).start()
    event, o = next(events)
    assert (event, o.data["k"]) == ("MODIFIED", "3"), (event, o)
    client.wait(Pod, "web-0", for_conditions=["Ready"])


def refusals(client):
    assert client.get(Namespace, "dev").status.phase == "Active"
    refused(404, client.get, Pod, "web-9")
    for kind, verb in ((Node, "list"), (Deployment, "list")):
        status = refused(403, lambda: list(client.list(kind)))
        assert status.message.split(": ")[1].startswith('User "system:serviceaccount') and verb in status.message, status
    refused(403, client.get, Service, "kubernetes", namespace="default")
    refused(403, client.delete, Pod, "web-0")


def kuby(client):
    """What a charm of the tests does, by its own module."""
    from cluster import Cluster

    cluster = Cluster("dev", "web")
    assert cluster.set_service_port(80) and not cluster.set_service_port(80)
    assert cluster.set_memory_limit("httpd", "2Gi") and not cluster.set_memory_limit("httpd", "2Gi")
    assert cluster.describe("web-0", "httpd") == {"ports": "80", "cluster-ip": "10.1.1.1", "memory-limit": "2Gi", "pod-ip": "10.1.0.1"}
    assert cluster.set_memory_limit("httpd", "") and not cluster.set_memory_limit("httpd", "")


def strict():
    """As newer Pythons look at certificates."""
    import os
    import socket

    ctx = ssl.create_default_context(cafile=ACCOUNT + "/ca.crt")
    ctx.verify_flags |= ssl.VERIFY_X509_STRICT
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], int(os.environ["KUBERNETES_SERVICE_PORT"])
    with socket.create_connection((host, port)) as s, ctx.wrap_socket(s, server_hostname=host):
        pass


def main():
    strict()
    client = Client()
    assert client.namespace == "dev", client.namespace
    for step in (service_ports, compute_resources, template, pods, own_objects, watch, refusals, kuby):
        step(client)
        print(step.__name__, flush=True)


main()

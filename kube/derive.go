package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

const (
	labelApp      = "app.kubernetes.io/name"
	labelManaged  = "app.kubernetes.io/managed-by"
	labelIndex    = "apps.kubernetes.io/pod-index"
	labelPod      = "statefulset.kubernetes.io/pod-name"
	labelRevision = "controller-revision-hash"

	// placeholderPort is what an application's service has while no port is
	// open. Source: docs/spec/containers.md §5.5.
	placeholderPort = 65535
)

// Derived is one object that the model implies.
type Derived struct {
	kind   kind
	object object
}

// Name is the object's place, as "pods/web-0".
func (d Derived) Name() string { return id(d.kind, textAt(d.object, "metadata", "name")) }

// JSON is the object.
func (d Derived) JSON() []byte { return encode(d.object) }

// Derive has the objects that a model implies: its Namespace, and of each
// application the StatefulSet, two Services, the ServiceAccount, and a Pod for
// each unit. The same model gives the same objects.
//
// Source: docs/spec/containers.md §5.5, for names, addresses and ports.
func Derive(m Model) []Derived {
	all := []Derived{derived("", "namespaces", namespaceObject(m))}
	for _, a := range m.Applications {
		set := derived("apps", "statefulsets", statefulSet(m, a))
		all = append(all,
			set,
			derived("", "services", service(m, a)),
			derived("", "services", endpointsService(m, a)),
			derived("", "serviceaccounts", object{"metadata": meta(m, a, "serviceaccounts", a.Name, a.ID, a.Created)}),
		)
		for _, u := range a.Units {
			all = append(all, derived("", "pods", pod(m, a, u, objectAt(set.object, "spec", "template"))))
		}
	}
	return all
}

func derived(group, plural string, o object) Derived {
	k, _ := kindOf(group, plural)
	o["apiVersion"], o["kind"] = k.apiVersion(), k.name
	o = normal(o)
	dropNulls(o)
	return Derived{k, o}
}

// uid is that of an object: the same for the same one, another one for one that
// takes its name later.
func uid(m Model, parts ...string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(m.UUID+"\n"+strings.Join(parts, "\n"))).String()
}

func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

// meta is the metadata of an object of an application; which tells it from those
// that had its name.
func meta(m Model, a Application, plural, name, which string, created time.Time) object {
	o := object{
		"name": name, "namespace": m.Name, "uid": uid(m, plural, name, which),
		"labels":      object{labelApp: a.Name, labelManaged: "juju"},
		"annotations": object{"app.juju.is/uuid": a.ID, "model.juju.is/id": m.UUID},
	}
	put(o, stamp(created), "creationTimestamp")
	return o
}

func namespaceObject(m Model) object {
	o := object{
		"metadata": object{
			"name": m.Name, "uid": uid(m, "namespaces", m.Name),
			"labels": object{
				"kubernetes.io/metadata.name": m.Name, "model.juju.is/name": m.Name, "model.juju.is/id": m.UUID, labelManaged: "juju",
			},
			"annotations": object{"model.juju.is/id": m.UUID},
		},
		"spec":   object{"finalizers": list{"kubernetes"}},
		"status": object{"phase": "Active"},
	}
	put(o, stamp(m.Created), "metadata", "creationTimestamp")
	return o
}

func service(m Model, a Application) object {
	ports := list{}
	for _, p := range a.Ports {
		ports = append(ports, object{
			"name": fmt.Sprintf("%s-%d", strings.ToLower(p.Protocol), p.Number), "port": p.Number, "targetPort": p.Number, "protocol": strings.ToUpper(p.Protocol),
		})
	}
	if len(ports) == 0 {
		ports = list{object{"name": "placeholder", "port": placeholderPort, "targetPort": placeholderPort, "protocol": "TCP"}}
	}
	spec := object{
		"type": "ClusterIP", "selector": object{labelApp: a.Name}, "ports": ports, "sessionAffinity": "None",
	}
	addressed(spec, a.Address)
	return object{"metadata": meta(m, a, "services", a.Name, a.ID, a.Created), "spec": spec, "status": object{"loadBalancer": object{}}}
}

// addressed gives a service's specification its address.
func addressed(spec object, address string) {
	if address != "" {
		spec["clusterIP"] = address
		spec["clusterIPs"] = list{address}
		family := "IPv4"
		if strings.Contains(address, ":") {
			family = "IPv6"
		}
		spec["ipFamilies"], spec["ipFamilyPolicy"] = list{family}, "SingleStack"
	}
}

func endpointsService(m Model, a Application) object {
	name := a.Name + "-endpoints"
	return object{
		"metadata": meta(m, a, "services", name, a.ID, a.Created),
		"spec": object{
			"type": "ClusterIP", "clusterIP": "None", "clusterIPs": list{"None"}, "selector": object{labelApp: a.Name},
			"publishNotReadyAddresses": true, "sessionAffinity": "None",
		},
		"status": object{"loadBalancer": object{}},
	}
}

func statefulSet(m Model, a Application) object {
	o := object{
		"metadata": meta(m, a, "statefulsets", a.Name, a.ID, a.Created),
		"spec": object{
			"replicas": a.Scale, "serviceName": a.Name + "-endpoints", "podManagementPolicy": "Parallel", "revisionHistoryLimit": 0,
			"selector":       object{"matchLabels": object{labelApp: a.Name}},
			"updateStrategy": object{"type": "RollingUpdate", "rollingUpdate": object{"partition": 0}},
			"template":       template(m, a),
		},
	}
	ready := 0
	for _, u := range a.Units {
		if u.ready(a) {
			ready++
		}
	}
	o["status"] = object{
		"replicas": len(a.Units), "readyReplicas": ready, "availableReplicas": ready, "currentReplicas": len(a.Units), "observedGeneration": 1,
	}
	return o
}

// revised adds to a stateful set as it is shown how far its pods have its
// template.
func revised(m Model, set object) {
	want := revision(objectAt(set, "spec", "template"))
	for _, a := range m.Applications {
		if a.Name != textAt(set, "metadata", "name") {
			continue
		}
		bare := objectAt(normal(template(m, a)))
		updated := 0
		for _, u := range a.Units {
			if revision(u.startedWith(bare)) == want {
				updated++
			}
		}
		put(set, json.Number(strconv.Itoa(updated)), "status", "updatedReplicas")
		put(set, a.Name+"-"+want, "status", "updateRevision")
	}
}

// startedWith is the template of the unit's pod, where bare is the model's.
func (u Unit) startedWith(bare object) object {
	if u.Template != nil {
		if t, err := decodeObject(u.Template); err == nil {
			return t
		}
	}
	return bare
}

// template is the pod template as the model has it.
func template(m Model, a Application) object {
	containers := list{object{
		"name": "charm", "image": a.CharmImage, "imagePullPolicy": "IfNotPresent", "resources": object{},
		"volumeMounts": list{object{"name": "charm-data", "mountPath": "/charm/containers", "subPath": "containeragent/containers"}},
	}}
	volumes := list{object{"name": "charm-data", "emptyDir": object{}}}
	seen := map[string]bool{}
	for _, w := range a.Workloads {
		mounts := list{object{"name": "charm-data", "mountPath": "/charm/container", "subPath": "charm/containers/" + w.Name}}
		for _, mount := range w.Mounts {
			name := a.Name + "-" + mount.Storage
			mounts = append(mounts, object{"name": name, "mountPath": mount.Location, "readOnly": mount.ReadOnly})
			if !seen[name] {
				seen[name] = true
				volumes = append(volumes, object{"name": name, "persistentVolumeClaim": object{"claimName": name}})
			}
		}
		security := object{}
		if w.UID != nil {
			security["runAsUser"] = *w.UID
		}
		if w.GID != nil {
			security["runAsGroup"] = *w.GID
		}
		containers = append(containers, object{
			"name": w.Name, "image": w.Image, "imagePullPolicy": "IfNotPresent", "resources": object{}, "securityContext": security,
			"env":          list{object{"name": "JUJU_CONTAINER_NAME", "value": w.Name}, object{"name": "PEBBLE_SOCKET", "value": "/charm/container/pebble.socket"}},
			"volumeMounts": mounts,
		})
	}
	return object{
		"metadata": object{"labels": object{labelApp: a.Name}, "annotations": object{"app.juju.is/uuid": a.ID, "model.juju.is/id": m.UUID}},
		"spec": object{
			"containers": containers, "volumes": volumes, "serviceAccountName": a.Name, "serviceAccount": a.Name, "automountServiceAccountToken": true,
			"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30,
		},
	}
}

// pod is the pod of a unit: the template that it was started with, and how it
// goes. bare is the model's own template.
func pod(m Model, a Application, u Unit, bare object) object {
	from := u.startedWith(bare)
	md := meta(m, a, "pods", a.pod(u), a.ID+"\n"+u.ID, u.Created)
	labels, annotations := objectAt(md, "labels"), objectAt(md, "annotations")
	maps.Copy(labels, objectAt(clone(from), "metadata", "labels"))
	maps.Copy(annotations, objectAt(clone(from), "metadata", "annotations"))
	delete(labels, labelManaged)
	labels[labelIndex], labels[labelPod], labels[labelRevision] = strconv.Itoa(u.Number), a.pod(u), a.Name+"-"+revision(from)
	annotations["unit.juju.is/id"] = fmt.Sprintf("%s/%d", a.Name, u.Number)
	md["generateName"] = a.Name + "-"
	md["ownerReferences"] = list{object{
		"apiVersion": "apps/v1", "kind": "StatefulSet", "name": a.Name, "uid": uid(m, "statefulsets", a.Name, a.ID), "controller": true, "blockOwnerDeletion": true,
	}}
	spec := object{}
	if s := objectAt(from, "spec"); s != nil {
		spec = cloned(s)
	}
	spec["hostname"], spec["subdomain"] = a.pod(u), a.Name+"-endpoints"
	put(spec, nonEmpty(u.Node), "nodeName")
	for _, c := range listAt(spec, "containers") {
		requestWhatIsLimited(c)
	}
	return object{"metadata": md, "spec": spec, "status": podStatus(u, listAt(spec, "containers"))}
}

// requestWhatIsLimited has a container of a pod request what it is limited to,
// where it doesn't say: so do clusters, and charms compare with it.
func requestWhatIsLimited(container any) {
	for name, limit := range objectAt(container, "resources", "limits") {
		if at(container, "resources", "requests", name) == nil {
			put(container.(object), limit, "resources", "requests", name)
		}
	}
}

func nonEmpty(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// ready says whether all containers of the unit are.
func (u Unit) ready(a Application) bool {
	for _, w := range a.Workloads {
		if !u.container(w.Name).Ready {
			return false
		}
	}
	return u.container("charm").Ready
}

func podStatus(u Unit, containers list) object {
	var states list
	ready, running := true, true
	for _, c := range containers {
		name := textAt(c, "name")
		s := u.container(name)
		ready, running = ready && s.Ready, running && s.Running
		state := object{"waiting": object{"reason": "ContainerCreating"}}
		if s.Running {
			state = object{"running": object{}}
			put(state, stamp(s.Started), "running", "startedAt")
		}
		states = append(states, object{
			"name": name, "image": textAt(c, "image"), "imageID": s.ImageID, "ready": s.Ready, "started": s.Running, "restartCount": s.Restarts, "state": state,
		})
	}
	o := object{"phase": "Pending", "containerStatuses": states, "qosClass": "BestEffort"}
	if running {
		o["phase"] = "Running"
	}
	if u.Address != "" {
		o["podIP"], o["podIPs"] = u.Address, list{object{"ip": u.Address}}
	}
	put(o, stamp(u.Created), "startTime")
	var conditions list
	for _, c := range []struct {
		of string
		is bool
	}{{"PodScheduled", true}, {"Initialized", true}, {"ContainersReady", ready}, {"Ready", ready}} {
		conditions = append(conditions, object{"type": c.of, "status": map[bool]string{true: "True", false: "False"}[c.is]})
	}
	o["conditions"] = conditions
	return o
}

// revision tells pod templates apart.
func revision(template object) string {
	sum := sha256.Sum256(encode(template))
	return hex.EncodeToString(sum[:5])
}

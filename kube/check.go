package kube

import (
	"encoding/base64"
	"encoding/json"
	"net/netip"
	"strconv"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
)

var (
	subdomainName = pattern.New(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	labelName     = pattern.New(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
)

// prepared is the object as it is to be, from what a request makes of it: what
// the server alone says is put as it is, what is left out gets its default. A
// refusal for what can't be.
func (s *Server) prepared(q *request, st state, h held, want object) (object, error) {
	want = cloned(want)
	dropNulls(want)
	if v := textAt(want, "apiVersion"); v != "" && v != q.kind.apiVersion() || textAt(want, "kind") != "" && textAt(want, "kind") != q.kind.name {
		return nil, badRequest("%s, Kind=%s in version %q cannot be handled as a %s", v, textAt(want, "kind"), v, q.kind.name)
	}
	want["apiVersion"], want["kind"] = q.kind.apiVersion(), q.kind.name
	if err := s.prepareMeta(q, st, h, want); err != nil {
		return nil, errors.Trace(err)
	}
	put(want, at(h.object, "status"), "status")
	var err error
	switch q.kind.plural {
	case "namespaces":
		put(want, at(h.object, "spec"), "spec")
	case "pods":
		err = preparePod(q, h, want)
	case "statefulsets":
		err = prepareSet(q, h, want)
	case "services":
		err = prepareService(q, st, h, want)
	default:
		err = prepareData(q, h, want)
	}
	return want, errors.Trace(err)
}

func (s *Server) prepareMeta(q *request, st state, h held, want object) error {
	md, ok := want["metadata"].(object)
	if !ok {
		return badRequest("the object provided has no metadata")
	}
	name, _ := md["name"].(string)
	namespace, _ := md["namespace"].(string)
	switch {
	case name != "" && name != q.name:
		return badRequest("the name of the object (%s) does not match the name on the URL (%s)", name, q.name)
	case namespace != "" && namespace != q.namespace:
		return badRequest("the namespace of the provided object does not match the namespace sent on the request")
	case h.object == nil && (len(q.name) > 253 || !subdomainName.MatchString(q.name)):
		return invalid(q.kind, q.name, "metadata.name: Invalid value: %q: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'", q.name)
	case h.object == nil && q.kind.label && (len(q.name) > 63 || !labelName.MatchString(q.name)):
		return invalid(q.kind, q.name, "metadata.name: Invalid value: %q: a DNS-1035 label must consist of lower case alphanumeric characters or '-'", q.name)
	}
	for _, field := range []string{"labels", "annotations"} {
		if said := md[field]; said != nil && (objectAt(md, field) == nil || len(stringsAt(md, field)) != len(objectAt(md, field))) {
			return badRequest("cannot unmarshal metadata.%s: it is no map of strings", field)
		}
	}
	if uid, _ := md["uid"].(string); h.object != nil && uid != "" && uid != textAt(h.object, "metadata", "uid") {
		return conflicted(q.kind, q.name, "Precondition failed: UID in precondition: "+uid+", UID in object meta: "+textAt(h.object, "metadata", "uid"))
	}
	for _, field := range []string{"managedFields", "selfLink", "deletionTimestamp", "generation"} {
		delete(md, field)
	}
	md["name"] = q.name
	put(md, nonEmpty(q.namespace), "namespace")
	if h.object != nil {
		for _, field := range []string{"uid", "creationTimestamp", "resourceVersion"} {
			put(md, at(h.object, "metadata", field), field)
		}
		return nil
	}
	now := s.config.Cluster.clock.Now()
	md["uid"] = uid(st.model, q.kind.plural, q.name, now.UTC().Format(time.RFC3339Nano))
	md["creationTimestamp"] = stamp(now)
	return nil
}

// same says whether two values are the same for a typed reader, for whom what
// is empty isn't there.
func same(a, b any) bool { return equal(withoutEmpty(a), withoutEmpty(b)) }

func withoutEmpty(v any) any {
	switch v := v.(type) {
	case object:
		o := object{}
		for k, e := range v {
			if e = withoutEmpty(e); e != nil {
				o[k] = e
			}
		}
		if len(o) > 0 {
			return o
		}
		return nil
	case list:
		var l list
		for _, e := range v {
			l = append(l, withoutEmpty(e))
		}
		if len(l) > 0 {
			return l
		}
		return nil
	case string:
		if v == "" {
			return nil
		}
	case bool:
		if !v {
			return nil
		}
	}
	return v
}

// preparePod refuses a change of a pod that isn't one of its metadata: on a
// cluster as well, little else can be changed.
func preparePod(q *request, h held, want object) error {
	if !same(want["spec"], h.object["spec"]) {
		return invalid(q.kind, q.name, "spec: Forbidden: pod updates may not change fields other than metadata")
	}
	want["spec"] = h.object["spec"]
	return nil
}

// prepareSet refuses what a stateful set can't be changed to: on a cluster, or
// here, where the model alone has the scale.
func prepareSet(q *request, h held, want object) error {
	spec, _ := want["spec"].(object)
	if spec == nil {
		return invalid(q.kind, q.name, "spec: Required value")
	}
	for _, field := range []string{"selector", "serviceName", "podManagementPolicy", "volumeClaimTemplates"} {
		if !same(spec[field], at(h.object, "spec", field)) {
			return invalid(q.kind, q.name, "spec: Forbidden: updates to statefulset spec for fields other than 'template' and 'updateStrategy' are forbidden")
		}
	}
	if !same(spec["replicas"], at(h.object, "spec", "replicas")) {
		return invalid(q.kind, q.name, "spec.replicas: Forbidden: the model has the scale of the application")
	}
	for _, selected := range []string{labelApp} {
		if textAt(spec, "template", "metadata", "labels", selected) != textAt(h.object, "spec", "selector", "matchLabels", selected) {
			return invalid(q.kind, q.name, "spec.template.metadata.labels: Invalid value: `selector` does not match template `labels`")
		}
	}
	containers := listAt(spec, "template", "spec", "containers")
	if _, ok := keyed("containers", containers); !ok || len(containers) == 0 {
		return invalid(q.kind, q.name, "spec.template.spec.containers: Required value: each with a name of its own")
	}
	for _, c := range containers {
		if err := checkResources(q, c); err != nil {
			return errors.Trace(err)
		}
	}
	defaultProtocols(want)
	return nil
}

// checkResources refuses amounts that aren't any, and requests over a limit.
func checkResources(q *request, container any) error {
	where := "spec.template.spec.containers[" + textAt(container, "name") + "].resources"
	amounts := map[string]map[string]Quantity{"limits": {}, "requests": {}}
	for which, of := range amounts {
		said := objectAt(container, "resources", which)
		for name := range said {
			amount, err := quantityAt(said, name)
			if err != nil {
				return badRequest("%s.%s: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$': %v", where, which, err)
			}
			if amount.Sign() < 0 {
				return invalid(q.kind, q.name, "%s.%s[%s]: Invalid value: must be greater than or equal to 0", where, which, name)
			}
			of[name] = amount
		}
	}
	for name, request := range amounts["requests"] {
		if limit, ok := amounts["limits"][name]; ok && request.Cmp(limit) > 0 {
			return invalid(q.kind, q.name, "%s.requests: Invalid value: must be less than or equal to %s limit", where, name)
		}
	}
	return nil
}

// defaultProtocols says the protocol of each port that names none: it is part of
// what a port is known by.
func defaultProtocols(v any) {
	switch v := v.(type) {
	case object:
		for k, e := range v {
			if ports, ok := e.(list); ok && k == "ports" {
				for _, p := range ports {
					if o, ok := p.(object); ok && o["protocol"] == nil {
						o["protocol"] = "TCP"
					}
				}
			}
			defaultProtocols(e)
		}
	case list:
		for _, e := range v {
			defaultProtocols(e)
		}
	}
}

func prepareService(q *request, st state, h held, want object) error {
	spec, _ := want["spec"].(object)
	if spec == nil {
		return invalid(q.kind, q.name, "spec: Required value")
	}
	for field, value := range map[string]any{"type": "ClusterIP", "sessionAffinity": "None"} {
		if spec[field] == nil {
			spec[field] = value
		}
	}
	defaultProtocols(want)
	if err := checkPorts(q, spec); err != nil {
		return errors.Trace(err)
	}
	had, _ := at(h.object, "spec", "clusterIP").(string)
	given, _ := spec["clusterIP"].(string)
	switch {
	case given == "" && had != "":
		for _, field := range []string{"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} {
			put(spec, at(h.object, "spec", field), field)
		}
	case had != "" && given != had:
		return invalid(q.kind, q.name, "spec.clusterIP: Invalid value: field is immutable")
	case given == "" && textAt(spec, "type") != "ExternalName":
		addressed(spec, addressOf(st.model, textAt(spec, "selector", labelApp)))
	}
	if want["status"] == nil {
		want["status"] = object{"loadBalancer": object{}}
	}
	return nil
}

// addressOf is the address of what a service selects; "" where that is no
// application.
func addressOf(m Model, application string) string {
	for _, a := range m.Applications {
		if _, err := netip.ParseAddr(a.Address); err == nil && a.Name == application {
			return a.Address
		}
	}
	return ""
}

func checkPorts(q *request, spec object) error {
	ports := listAt(spec, "ports")
	if _, ok := keyed("ports", ports); !ok {
		return invalid(q.kind, q.name, "spec.ports: Duplicate value: each port is to be of its own")
	}
	for _, p := range ports {
		n, ok := at(p, "port").(json.Number)
		port, err := strconv.Atoi(n.String())
		if !ok || err != nil || port < 1 || port > 65535 {
			return invalid(q.kind, q.name, "spec.ports.port: Invalid value: must be between 1 and 65535, inclusive")
		}
		if len(ports) > 1 && textAt(p, "name") == "" {
			return invalid(q.kind, q.name, "spec.ports.name: Required value")
		}
		if at(p, "targetPort") == nil {
			put(p.(object), n, "targetPort")
		}
	}
	return nil
}

// foldStringData has the plain values of a secret among the encoded ones.
func foldStringData(o object) {
	for k, v := range stringsAt(o, "stringData") {
		put(o, base64.StdEncoding.EncodeToString([]byte(v)), "data", k)
	}
	delete(o, "stringData")
}

// prepareData is for what holds data: ConfigMaps and Secrets.
func prepareData(q *request, h held, want object) error {
	encoded := "binaryData"
	if q.kind.plural == "secrets" {
		encoded = "data"
		foldStringData(want)
		if want["type"] == nil {
			want["type"] = "Opaque"
		}
		if was := at(h.object, "type"); was != nil && want["type"] != was {
			return invalid(q.kind, q.name, "type: Invalid value: field is immutable")
		}
	}
	for _, field := range []string{"data", "binaryData"} {
		said := want[field]
		if said != nil && (objectAt(want, field) == nil || len(stringsAt(want, field)) != len(objectAt(want, field))) {
			return badRequest("cannot unmarshal %s: it is no map of strings", field)
		}
		for k, v := range stringsAt(want, field) {
			if _, err := base64.StdEncoding.DecodeString(v); err != nil && field == encoded {
				return badRequest("illegal base64 data in %s[%s]", field, k)
			}
		}
	}
	if at(h.object, "immutable") == true {
		for _, field := range []string{"data", "binaryData", "immutable"} {
			if !equal(want[field], h.object[field]) {
				return invalid(q.kind, q.name, "data: Forbidden: field is immutable when `immutable` is set")
			}
		}
	}
	return nil
}

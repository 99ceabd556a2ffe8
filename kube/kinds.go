package kube

import "slices"

// kind is one row of the table of what there is.
type kind struct {
	group, plural, name, short string
	// cluster is a kind that stands in no namespace.
	cluster bool
	verbs   []string
	// label is a kind whose names are a label of a host name, as services have.
	label bool
}

var (
	readVerbs  = []string{"get", "list", "watch"}
	workVerbs  = []string{"get", "list", "patch", "update", "watch"}
	makeVerbs  = []string{"create", "delete", "get", "list", "patch", "update", "watch"}
	reviewVerb = []string{"create"}
)

// kinds are the kinds of objects that are answered for, and what may be done
// with them. Discovery, routing and what is forbidden go by it.
var kinds = []kind{
	{plural: "configmaps", name: "ConfigMap", short: "cm", verbs: makeVerbs},
	{plural: "namespaces", name: "Namespace", short: "ns", cluster: true, verbs: workVerbs},
	{plural: "pods", name: "Pod", short: "po", verbs: workVerbs},
	{plural: "secrets", name: "Secret", verbs: makeVerbs},
	{plural: "serviceaccounts", name: "ServiceAccount", short: "sa", verbs: readVerbs},
	{plural: "services", name: "Service", short: "svc", verbs: makeVerbs, label: true},
	{group: "apps", plural: "statefulsets", name: "StatefulSet", short: "sts", verbs: workVerbs},
	{group: reviewGroup, plural: "selfsubjectaccessreviews", name: "SelfSubjectAccessReview", cluster: true, verbs: reviewVerb},
}

// kindOf is the row of a resource.
func kindOf(group, plural string) (kind, bool) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.group == group && k.plural == plural })
	if i < 0 {
		return kind{}, false
	}
	return kinds[i], true
}

func (k kind) apiVersion() string {
	if k.group == "" {
		return "v1"
	}
	return k.group + "/v1"
}

func (k kind) can(verb string) bool { return slices.Contains(k.verbs, verb) }

// title is how messages name objects of the kind.
func (k kind) title() string {
	if k.group == "" {
		return k.plural
	}
	return k.plural + "." + k.group
}

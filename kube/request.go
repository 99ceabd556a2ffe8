package kube

import (
	"fmt"
	"net/http"
	"strings"
)

// request is what a call asks for, as its path and query say.
type request struct {
	*http.Request
	verb      string // get, list, watch, create, update, patch, delete, deletecollection
	kind      kind
	known     bool // the kind is one that is answered for
	namespace string
	name, sub string
}

// parseRequest reads the path of a resource; false for another one.
func parseRequest(r *http.Request) (*request, bool) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	q := &request{Request: r}
	group := ""
	switch {
	case len(parts) > 2 && parts[0] == "api" && parts[1] == "v1":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
		if r.URL.Path[:len("/apis/"+group+"/v1/")] != "/apis/"+group+"/v1/" {
			group += " " // another version: nothing is known of it
		}
	default:
		return nil, false
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		q.namespace, parts = parts[1], parts[2:]
	} else if parts[0] == "watch" {
		return nil, false
	}
	if q.kind, q.known = kindOf(group, parts[0]); !q.known {
		q.kind = kind{group: strings.TrimSpace(group), plural: parts[0]}
	}
	if q.known && q.kind.cluster && q.namespace != "" { // namespaces/NAME/SUB
		return nil, false
	}
	if len(parts) > 1 {
		q.name = parts[1]
	}
	if len(parts) > 2 {
		q.sub = strings.Join(parts[2:], "/")
	}
	q.verb = q.verbOf()
	return q, true
}

func (q *request) verbOf() string {
	switch q.Method {
	case http.MethodGet, http.MethodHead:
		switch {
		case isTrue(q.URL.Query().Get("watch")):
			return "watch"
		case q.name == "":
			return "list"
		}
		return "get"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if q.name == "" {
			return "deletecollection"
		}
		return "delete"
	}
	return strings.ToLower(q.Method)
}

func isTrue(s string) bool { return s == "true" || s == "1" || s == "True" }

// forbidden is the answer to an account that may not do that.
func (q *request) forbidden(user string) *refusal {
	resource, what := q.kind.plural, q.kind.title()
	if q.sub != "" {
		resource += "/" + q.sub
	}
	if q.name != "" {
		what += fmt.Sprintf(" %q", q.name)
	}
	where := "at the cluster scope"
	if q.namespace != "" {
		where = fmt.Sprintf("in the namespace %q", q.namespace)
	}
	return &refusal{
		http.StatusForbidden, "Forbidden",
		fmt.Sprintf("%s is forbidden: User %q cannot %s resource %q in API group %q %s", what, user, q.verb, resource, q.kind.group, where),
		q.kind, q.name,
	}
}

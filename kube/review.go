package kube

import (
	"net/http"
	"slices"

	"github.com/juju/errors"
)

// review answers an account that asks what it may do, as charms do to find out
// whether they are trusted: the answer is what this server does. For any verb or
// any resource ("*") it is yes, in the account's own namespace.
func (s *Server) review(w http.ResponseWriter, q *request, st state) error {
	data, err := body(w, q)
	if err != nil {
		return errors.Trace(err)
	}
	o, err := decodeObject(data)
	if err != nil {
		return badRequest("the object provided is unrecognized: %v", err)
	}
	o["apiVersion"], o["kind"] = q.kind.apiVersion(), q.kind.name
	o["status"] = object{"allowed": s.reviewed(objectAt(o, "spec", "resourceAttributes"), st)}
	write(w, http.StatusCreated, o)
	return nil
}

func (s *Server) reviewed(asked object, st state) bool {
	if asked == nil {
		return false
	}
	k, known := kindOf(textAt(asked, "group"), textAt(asked, "resource"))
	of := &request{
		verb: textAt(asked, "verb"), kind: k, known: known, namespace: textAt(asked, "namespace"), name: textAt(asked, "name"), sub: textAt(asked, "subresource"),
	}
	if textAt(asked, "resource") == "*" {
		return of.sub == "" && of.namespace == st.namespace && slices.Contains(append(makeVerbs, "*"), of.verb)
	}
	if known && of.verb == "*" {
		of.verb = k.verbs[0]
	}
	if k.cluster && k.plural == "namespaces" && of.name == "" {
		of.name = of.namespace
	}
	if k.cluster {
		of.namespace = ""
	}
	return s.may(of, st) == nil
}

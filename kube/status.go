package kube

import (
	"fmt"
	"net/http"

	"github.com/juju/errors"
)

// refusal is an answer that isn't the one that was asked for.
type refusal struct {
	code    int
	reason  string
	message string
	kind    kind
	name    string
}

// Error is the message, as clients show it.
func (r *refusal) Error() string { return r.message }

// status is the refusal as clients read it.
func (r *refusal) status() object {
	o := object{
		"kind": "Status", "apiVersion": "v1", "metadata": object{}, "status": "Failure",
		"message": r.message, "reason": r.reason, "code": r.code,
	}
	if r.kind.plural != "" {
		details := object{"kind": r.kind.plural}
		put(details, nonEmpty(r.kind.group), "group")
		put(details, nonEmpty(r.name), "name")
		o["details"] = details
	}
	return o
}

func notFound(k kind, name string) *refusal {
	return &refusal{http.StatusNotFound, "NotFound", fmt.Sprintf("%s %q not found", k.title(), name), k, name}
}

func alreadyExists(k kind, name string) *refusal {
	return &refusal{http.StatusConflict, "AlreadyExists", fmt.Sprintf("%s %q already exists", k.title(), name), k, name}
}

func conflicted(k kind, name string, why string) *refusal {
	return &refusal{http.StatusConflict, "Conflict", why, k, name}
}

func modified(k kind, name string) *refusal {
	return conflicted(k, name, fmt.Sprintf("Operation cannot be fulfilled on %s %q: the object has been modified; "+
		"please apply your changes to the latest version and try again", k.title(), name))
}

func badRequest(format string, args ...any) *refusal {
	return &refusal{code: http.StatusBadRequest, reason: "BadRequest", message: fmt.Sprintf(format, args...)}
}

func invalid(k kind, name, format string, args ...any) *refusal {
	title := k.name
	if k.group != "" {
		title += "." + k.group
	}
	return &refusal{
		http.StatusUnprocessableEntity, "Invalid", fmt.Sprintf("%s %q is invalid: ", title, name) + fmt.Sprintf(format, args...), k, name,
	}
}

func expired(rev string) *refusal {
	return &refusal{code: http.StatusGone, reason: "Expired", message: "too old resource version: " + rev}
}

// refused is any error as an answer: what isn't a refusal is a fault here.
func refused(err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	return &refusal{code: http.StatusInternalServerError, reason: "InternalError", message: "Internal error occurred: " + err.Error()}
}

package kube

import (
	"maps"
	"mime"
	"net/http"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/juju/errors"
)

// maxOperations is how many operations a JSON patch may have, as on a cluster.
const maxOperations = 10000

// patcher is one way to change an object.
type patcher struct {
	// creates says that it makes an object where there is none.
	creates bool
	make    func(held) (outcome, error)
}

// patcher reads what the request does to the object.
func (q *request) patcher(data []byte) (patcher, error) {
	if q.verb == "update" {
		o, err := decodeObject(data)
		if err != nil {
			return patcher{}, badRequest("the object provided is unrecognized: %v", err)
		}
		return patcher{make: func(h held) (outcome, error) { return outcome{cloned(o), h.doc.Applied}, nil }}, nil
	}
	kind, _, _ := mime.ParseMediaType(q.Header.Get("Content-Type")) // what isn't one is no kind of patch
	switch kind {
	case "application/json-patch+json":
		return jsonPatch(data)
	case "application/merge-patch+json":
		return patchBy(func(o object) (object, error) {
			result, err := jsonpatch.MergePatch(encode(o), data)
			if err != nil {
				return nil, badRequest("%v", err)
			}
			return decodeObject(result)
		}), nil
	case "application/strategic-merge-patch+json":
		patch, err := decodeObject(data)
		if err != nil {
			return patcher{}, badRequest("%v", err)
		}
		return patchBy(func(o object) (object, error) { return strategicMerge(o, patch) }), nil
	case "application/apply-patch+yaml":
		return q.applyPatch(data)
	}
	return patcher{}, &refusal{
		code: http.StatusUnsupportedMediaType, reason: "UnsupportedMediaType",
		message: "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, " +
			"application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml",
	}
}

// patchBy is a patch that knows the object alone.
func patchBy(f func(object) (object, error)) patcher {
	return patcher{make: func(h held) (outcome, error) {
		o, err := f(h.object)
		if errors.Is(err, errors.NotValid) {
			err = badRequest("%v", err)
		}
		return outcome{o, h.doc.Applied}, errors.Trace(err)
	}}
}

func jsonPatch(data []byte) (patcher, error) {
	patch, err := jsonpatch.DecodePatch(data)
	if err != nil {
		return patcher{}, badRequest("error decoding patch: %v", err)
	}
	if len(patch) > maxOperations {
		return patcher{}, &refusal{
			code: http.StatusRequestEntityTooLarge, reason: "RequestEntityTooLarge", message: "The allowed maximum operations in a JSON patch is 10000",
		}
	}
	options := jsonpatch.NewApplyOptions()
	options.AccumulatedCopySizeLimit = maxBody
	return patchBy(func(o object) (object, error) {
		result, err := patch.ApplyWithOptions(encode(o), options)
		if err != nil {
			return nil, &refusal{
				code: http.StatusUnprocessableEntity, reason: "Invalid", message: "the server rejected our request due to an error in our request: " + err.Error(),
			}
		}
		return decodeObject(result)
	}), nil
}

// applyPatch is a server-side apply.
func (q *request) applyPatch(data []byte) (patcher, error) {
	config, err := decodeObject(data)
	if err != nil {
		return patcher{}, badRequest("error decoding YAML: %v", err)
	}
	dropNulls(config)
	query := q.URL.Query()
	manager := query.Get("fieldManager")
	switch {
	case manager == "":
		return patcher{}, &refusal{
			code: http.StatusUnprocessableEntity, reason: "Invalid", message: "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch",
		}
	case at(config, "metadata", "managedFields") != nil:
		return patcher{}, badRequest("metadata.managedFields must be nil")
	case textAt(config, "apiVersion") != q.kind.apiVersion() || textAt(config, "kind") != q.kind.name:
		return patcher{}, badRequest("invalid object type: %s, Kind=%s", textAt(config, "apiVersion"), textAt(config, "kind"))
	}
	whole := cloned(config)
	foldStringData(config) // so that what is left out later is known by its place
	defaultProtocols(config)
	for _, field := range []string{"apiVersion", "kind", "status"} {
		delete(config, field)
	}
	for _, field := range []string{"name", "namespace", "uid", "creationTimestamp", "resourceVersion", "generation"} {
		put(config, nil, "metadata", field)
	}
	if len(objectAt(config, "metadata")) == 0 {
		delete(config, "metadata")
	}
	return patcher{creates: true, make: func(h held) (outcome, error) {
		if h.object == nil {
			return outcome{whole, map[string]object{manager: config}}, nil
		}
		applied := maps.Clone(h.doc.Applied)
		if applied == nil {
			applied = map[string]object{}
		}
		result, err := application{
			manager: manager, force: isTrue(query.Get("force")), config: config, derived: h.derived, current: h.object, applied: applied,
		}.apply()
		if c, ok := errors.AsType[conflictError](err); ok {
			return outcome{}, conflicted(q.kind, q.name, c.Error())
		}
		if err != nil {
			return outcome{}, errors.Trace(err)
		}
		if version := textAt(whole, "metadata", "resourceVersion"); version != "" {
			put(result, version, "metadata", "resourceVersion")
		}
		applied[manager] = config
		return outcome{result, applied}, nil
	}}, nil
}

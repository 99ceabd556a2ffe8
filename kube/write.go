package kube

import (
	"context"
	"io"
	"net/http"

	"github.com/juju/errors"
)

const (
	// maxBody is how large a request may be, as on a cluster.
	maxBody = 3 << 20
	// tries is how often a change is made anew where somebody else was quicker.
	tries = 10
)

// body reads a request whole.
func body(w http.ResponseWriter, q *request) ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(w, q.Body, maxBody))
	if errors.HasType[*http.MaxBytesError](err) {
		return nil, &refusal{code: http.StatusRequestEntityTooLarge, reason: "RequestEntityTooLarge", message: "Request entity too large: limit is 3145728"}
	}
	if err != nil {
		return nil, badRequest("cannot read the request: %v", err)
	}
	return data, nil
}

// isDry says whether the change is to be tried only.
func isDry(q *request) (bool, error) {
	switch values := q.URL.Query()["dryRun"]; {
	case len(values) == 0:
		return false, nil
	case len(values) == 1 && values[0] == "All":
		return true, nil
	}
	return false, &refusal{code: http.StatusUnprocessableEntity, reason: "Invalid", message: "dryRun: Unsupported value: supported values: \"All\""}
}

// outcome is what a request makes of an object.
type outcome struct {
	object  object // nil: it goes
	applied map[string]object
}

// commit makes what the function says of the object as it is, and answers with
// the object as it is then. The function may be called more than once.
func (s *Server) commit(ctx context.Context, q *request, by func(state, held) (outcome, error)) (object, error) {
	dry, err := isDry(q)
	if err != nil {
		return nil, errors.Trace(err)
	}
	s.config.Cluster.writing.Lock()
	defer s.config.Cluster.writing.Unlock()
	for range tries {
		st, err := s.config.Cluster.look(ctx)
		if err != nil {
			return nil, errors.Trace(err)
		}
		if err := s.may(q, st); err != nil {
			return nil, errors.Trace(err)
		}
		h := st.objects[id(q.kind, q.name)]
		h.kind = q.kind
		want, err := by(st, h)
		if err != nil {
			return nil, errors.Trace(err)
		}
		if dry || want.object != nil && equal(want.object, h.object) && equal(want.applied, h.doc.Applied) {
			return want.object, nil
		}
		err = s.store(ctx, h, want)
		if errors.Is(err, ErrConflict) {
			continue
		}
		if err != nil {
			return nil, errors.Trace(err)
		}
		st, err = s.config.Cluster.look(ctx)
		return st.objects[id(q.kind, q.name)].object, errors.Trace(err)
	}
	return nil, modified(q.kind, q.name)
}

func (s *Server) store(ctx context.Context, h held, want outcome) error {
	bare := want.object
	if bare != nil {
		bare = cloned(bare)
		put(bare, nil, "metadata", "resourceVersion")
	}
	rec, err := h.record(s.config.Application, bare, want.applied)
	if err != nil {
		return errors.Trace(err)
	}
	if err := s.config.Cluster.source.Put(ctx, rec); !errors.Is(err, ErrTooLarge) {
		return errors.Trace(err)
	}
	return invalid(h.kind, textAt(want.object, "metadata", "name"), "[]: Too long: may not be more than 1048576 bytes")
}

// create makes an object.
func (s *Server) create(w http.ResponseWriter, q *request) error {
	data, err := body(w, q)
	if err != nil {
		return errors.Trace(err)
	}
	o, err := decodeObject(data)
	if err != nil {
		return badRequest("the object provided is unrecognized: %v", err)
	}
	q.name = textAt(o, "metadata", "name")
	if q.name == "" {
		return invalid(q.kind, "", "metadata.name: Required value: name or generateName is required")
	}
	if textAt(o, "metadata", "resourceVersion") != "" {
		return badRequest("resourceVersion should not be set on objects to be created")
	}
	made, err := s.commit(q.Context(), q, func(st state, h held) (outcome, error) {
		if h.object != nil {
			return outcome{}, alreadyExists(q.kind, q.name)
		}
		want, err := s.prepared(q, st, h, o)
		return outcome{want, nil}, errors.Trace(err)
	})
	if err != nil {
		return errors.Trace(err)
	}
	write(w, http.StatusCreated, made)
	return nil
}

// delete takes an object away.
func (s *Server) delete(w http.ResponseWriter, q *request) error {
	data, err := body(w, q)
	if err != nil {
		return errors.Trace(err)
	}
	options := object{}
	if len(data) > 0 {
		if options, err = decodeObject(data); err != nil {
			return badRequest("the object provided is unrecognized: %v", err)
		}
	}
	if len(listAt(options, "dryRun")) > 0 {
		query := q.URL.Query()
		query.Set("dryRun", "All")
		q.URL.RawQuery = query.Encode()
	}
	var uid string
	_, err = s.commit(q.Context(), q, func(_ state, h held) (outcome, error) {
		if h.object == nil {
			return outcome{}, notFound(q.kind, q.name)
		}
		for _, field := range []string{"uid", "resourceVersion"} {
			if must := textAt(options, "preconditions", field); must != "" && must != textAt(h.object, "metadata", field) {
				return outcome{}, conflicted(q.kind, q.name, "Precondition failed: "+field+" in precondition is another one")
			}
		}
		uid = textAt(h.object, "metadata", "uid")
		return outcome{}, nil
	})
	if err != nil {
		return errors.Trace(err)
	}
	details := object{"name": q.name, "kind": q.kind.plural, "uid": uid}
	put(details, nonEmpty(q.kind.group), "group")
	write(w, http.StatusOK, object{"kind": "Status", "apiVersion": "v1", "metadata": object{}, "status": "Success", "details": details})
	return nil
}

// change replaces or patches an object.
func (s *Server) change(w http.ResponseWriter, q *request) error {
	data, err := body(w, q)
	if err != nil {
		return errors.Trace(err)
	}
	by, err := q.patcher(data)
	if err != nil {
		return errors.Trace(err)
	}
	code := http.StatusOK
	changed, err := s.commit(q.Context(), q, func(st state, h held) (outcome, error) {
		code = http.StatusOK
		if h.object == nil {
			if !by.creates || !q.kind.can("create") {
				return outcome{}, notFound(q.kind, q.name)
			}
			code = http.StatusCreated
		}
		result, err := by.make(h)
		if err != nil {
			return outcome{}, errors.Trace(err)
		}
		version := textAt(result.object, "metadata", "resourceVersion")
		if h.object != nil && version != "" && version != textAt(h.object, "metadata", "resourceVersion") {
			return outcome{}, modified(q.kind, q.name)
		}
		result.object, err = s.prepared(q, st, h, result.object)
		return result, errors.Trace(err)
	})
	if err != nil {
		return errors.Trace(err)
	}
	write(w, code, changed)
	return nil
}

package pebble

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"syscall"

	"github.com/juju/errors"
)

const (
	// ErrNotThere is that the socket is missing, or that nobody listens at it.
	ErrNotThere = errors.ConstError("Pebble isn't there")
	// ErrNoAnswer is that somebody listens and doesn't answer in time.
	ErrNoAnswer = errors.ConstError("Pebble doesn't answer in time")
	// ErrBroken is that the connection ended before the answer did.
	ErrBroken = errors.ConstError("the connection to Pebble broke")
	// ErrGarbage is that what came isn't an answer of Pebble's.
	ErrGarbage = errors.ConstError("not an answer of Pebble's")
)

// APIError is a refusal of Pebble's.
type APIError struct {
	// Status is the HTTP status; 0 where one of several files was refused.
	Status int
	// Kind is Pebble's word for some refusals, as "not-found" or
	// "permission-denied"; mostly empty.
	Kind string
	// Message is Pebble's text for people.
	Message string
}

// Error is Pebble's message.
func (e *APIError) Error() string { return e.Message }

// Is says whether the refusal means one of juju/errors' NotFound, Unauthorized
// (Pebble doesn't know the caller as one who may) or Forbidden.
func (e *APIError) Is(target error) bool {
	switch target {
	case errors.NotFound:
		return e.Status == http.StatusNotFound || e.Kind == "not-found"
	case errors.Unauthorized:
		return e.Status == http.StatusUnauthorized
	case errors.Forbidden:
		return e.Status == http.StatusForbidden || e.Kind == "permission-denied"
	}
	return false
}

// garbage is an error of type ErrGarbage.
func garbage(format string, args ...any) error {
	return errors.WithType(errors.New(fmt.Sprintf(format, args...)), ErrGarbage)
}

// classify gives an error of a call its type. ctx is the call's own context, with
// its patience; outer is what the caller gave.
func classify(outer, ctx context.Context, err error) error {
	var api *APIError
	var callers *callersError
	switch {
	case err == nil:
		return nil
	case outer.Err() != nil:
		return errors.Trace(context.Cause(outer))
	case ctx.Err() != nil:
		return errors.Trace(context.Cause(ctx))
	case errors.As(err, &api), errors.As(err, &callers), typed(err):
		return errors.Trace(err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return errors.WithType(err, ErrNotThere)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return errors.WithType(err, ErrBroken)
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return errors.Trace(err) // such as a socket that this user may not reach
	}
	return errors.WithType(err, ErrGarbage)
}

// callersError is an error of a reader's or writer's that the caller gave. What it
// is says nothing of Pebble.
type callersError struct{ error }

// Unwrap is the reader's or writer's own error.
func (e *callersError) Unwrap() error { return e.error }

func typed(err error) bool {
	for _, t := range []error{ErrNotThere, ErrNoAnswer, ErrBroken, ErrGarbage} {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}

package served

import (
	"context"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// fault is an error on its way from the server: its text, and which of those it is that
// callers of a store ask for.
type fault struct {
	Kind string `json:"kind,omitempty"`
	Text string `json:"text"`
}

// errAway is the answer of an agent that ends, or becomes another program: another one may be
// there at once.
const errAway = errors.ConstError("the agent ends")

// kinds are the errors that arrive as what they were.
var kinds = map[string]error{
	"not-found":    errors.NotFound,
	"not-valid":    errors.NotValid,
	"unauthorized": errors.Unauthorized,
	"too-large":    store.ErrTooLarge,
	"full":         store.ErrFull,
	"contention":   store.ErrContention,
	"damaged":      store.ErrDamaged,
	"timeout":      errors.Timeout,
	"away":         errAway,
}

// faultOf is the error as it is sent; nil for none.
func faultOf(err error) *fault {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.NewTimeout(nil, "a view of the store that its agent serves took too long")
	}
	f := &fault{Text: err.Error()}
	for kind, is := range kinds {
		if errors.Is(err, is) {
			f.Kind = kind
		}
	}
	return f
}

// error is what arrives.
func (f *fault) error() error {
	if f == nil {
		return nil
	}
	if kind, ok := kinds[f.Kind]; ok {
		return errors.WithType(errors.New(f.Text), kind.(errors.ConstError))
	}
	return errors.New(f.Text)
}

package replay

import (
	"fmt"

	"github.com/juju/errors"
)

// ErrDiffers is of a run that contradicts another one: of what is known the two had the
// same, and they did something else. Its text says what.
const ErrDiffers = errors.ConstError("runs with the same inputs differ")

// Tree has all that is known of runs of one program that have started with the same. The
// zero value knows nothing.
type Tree struct {
	root node
}

// node is a moment in a run: what comes next, if that is known.
type node struct {
	next *step
	end  *End
}

// step is a call with the replies that programs have had.
type step struct {
	request Request
	key     string
	replies map[Reply]*node
}

// Empty says whether nothing is known.
func (t *Tree) Empty() bool { return t.root.next == nil && t.root.end == nil }

// Add puts a run into the tree. known says that all of it was there already. The error
// is ErrDiffers for one that contradicts what is there; the tree stays as it is then.
func (t *Tree) Add(r Run) (known bool, err error) {
	at := &t.root
	for i, c := range r.Calls {
		switch {
		case at.end != nil:
			return false, differ("it ends after %d calls, and it calls %s", i, c.Request)
		case at.next == nil:
			*at = *grow(r, i)
			return false, nil
		case at.next.key != c.Request.key():
			return false, differ("its call %d is %s, and another one: %s", i+1, at.next.request, c.Request)
		}
		next := at.next.replies[c.Reply]
		if next == nil {
			at.next.replies[c.Reply] = grow(r, i+1)
			return false, nil
		}
		at = next
	}
	switch {
	case at.next != nil:
		return false, differ("it ends after %d calls, and it calls %s", len(r.Calls), at.next.request)
	case at.end == nil:
		at.end = &r.End
		return false, nil
	}
	if text := at.end.differs(r.End); text != "" {
		return false, differ("%s", text)
	}
	return true, nil
}

func differ(format string, args ...any) error {
	return errors.WithType(fmt.Errorf(format, args...), ErrDiffers)
}

// grow is what a run has from that call on.
func grow(r Run, from int) *node {
	if from == len(r.Calls) {
		return &node{end: &r.End}
	}
	c := r.Calls[from]
	return &node{next: &step{request: c.Request, key: c.Request.key(), replies: map[Reply]*node{c.Reply: grow(r, from+1)}}}
}

// Walk goes through a tree as a program would that starts anew.
type Walk struct {
	at *node
}

// Walk begins at the start of the program.
func (t *Tree) Walk() *Walk { return &Walk{&t.root} }

// Next is the call that the program makes next; false: it makes none, see End.
func (w *Walk) Next() (Request, bool) {
	if w.at.next == nil {
		return Request{}, false
	}
	return w.at.next.request, true
}

// Hear goes on with the reply to the call. It is false for one after which nobody knows what
// the program does; then the walk is over.
func (w *Walk) Hear(r Reply) bool {
	next := w.at.next.replies[r]
	if next == nil {
		return false
	}
	w.at = next
	return true
}

// End is how the program ends, if it makes no call any more and that is known.
func (w *Walk) End() (End, bool) {
	if w.at.end == nil {
		return End{}, false
	}
	return *w.at.end, true
}

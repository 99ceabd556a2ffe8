package cli

import (
	"encoding/json"
	"os"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/check"
)

// resumeCheck has a check go on from where an earlier one of the same charm was. If the file is of
// another charm, of another version of it or for other promises, the check begins anew, and says so.
func (a testVerbs) resumeCheck(o *check.Options, s check.Subject, f checkFlags) error {
	if f.resume == "" {
		return nil
	}
	b, err := os.ReadFile(f.resume)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return errors.Annotate(err, "cannot resume the check")
	}
	var p check.Progress
	if err := json.Unmarshal(b, &p); err != nil || p.Of == "" {
		return errors.Errorf("%s isn't a file that check --resume has written: remove it, or name another one", f.resume)
	}
	promises := o.Promises
	if len(promises) == 0 {
		promises = promiseNames()
	}
	switch {
	case p.Of != s.Digest:
		a.Note("%s is about another charm, or another version of it; the check begins anew", f.resume)
	case !slices.Equal(p.Promises, promises):
		a.Note("%s is about other promises; the check begins anew", f.resume)
	default:
		o.Resume = &p
	}
	return nil
}

// keepProgress writes how far a check has come.
func keepProgress(r *check.Report, f checkFlags) error {
	if f.resume == "" || r.Progress == nil {
		return nil
	}
	b, err := json.Marshal(r.Progress)
	if err == nil {
		err = os.WriteFile(f.resume+".new", append(b, '\n'), 0o666)
	}
	if err == nil { // whole, or as it was
		err = os.Rename(f.resume+".new", f.resume)
	}
	return errors.Annotate(err, "cannot keep the check's progress")
}

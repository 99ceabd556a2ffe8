package cli

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/check"
)

// former is the version that a check upgrades from.
type former struct {
	// path is where it is; empty: the charm is upgraded to itself.
	path string
	// commit is that of the charm's git history; empty: somebody has named the path.
	commit string
}

// formerOf is the version that a flag names, or else the one that git has, if one of the promises
// is about upgrades.
func (a testVerbs) formerOf(charm, from string, only []string, work string) (former, error) {
	upgrades := []string{check.Upgrade, check.Killed, check.Twice}
	if from == "" && len(only) > 0 && !slices.ContainsFunc(only, func(p string) bool { return slices.Contains(upgrades, p) }) {
		return former{}, nil
	}
	if from != "" {
		path, err := filepath.Abs(from)
		return former{path: path}, errors.Trace(err)
	}
	if info, err := os.Stat(charm); err != nil || !info.IsDir() {
		return former{}, nil
	}
	path, err := filepath.Abs(filepath.Join(work, "former"))
	if err != nil {
		return former{}, errors.Trace(err)
	}
	commit, err := check.Committed(a.Context(), charm, path)
	if err != nil {
		a.Note("the charm is upgraded to itself: %v", err)
	}
	if err != nil || commit == "" {
		return former{}, a.Context().Err()
	}
	return former{path, commit}, nil
}

// readyFormer makes the version ready to be deployed. One of a commit that can't be is left out.
func (a testVerbs) readyFormer(from *former, s *check.Subject, ready func(path, name string) (*charmdir.Charm, string, error)) error {
	if from.path == "" {
		return nil
	}
	was, dir, err := ready(from.path, "former-version")
	if err == nil && was.Name != s.Charm.Name {
		err = errors.Errorf("it is called %s", was.Name)
	}
	switch {
	case err == nil && from.commit == "":
	case err == nil:
		a.Note("the charm is upgraded from that of commit %s (--from names another version)", from.commit)
	case from.commit == "":
		return errors.Annotate(err, "cannot use the version of --from")
	default:
		a.Note("the charm is upgraded to itself, as that of commit %s can't be used: %v", from.commit, err)
		*from, dir = former{}, ""
	}
	s.Former, s.Commit = dir, from.commit
	if dir != "" {
		s.Was = was.Charm
	}
	return nil
}

// keep returns the path of a former version as findings name it that are kept in a directory: from
// there. A version that git has is put there.
func (f former) keep(dir string) (string, error) {
	if f.path == "" {
		return "", nil
	}
	if f.commit == "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return "", errors.Trace(err)
		}
		if rel, err := filepath.Rel(abs, f.path); err == nil {
			return filepath.ToSlash(rel), nil
		}
		return f.path, nil
	}
	name := f.about()
	if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
		return name, nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", errors.Annotate(err, "cannot keep the former version")
	}
	next, err := os.MkdirTemp(dir, name+"-")
	if err == nil {
		if err = os.CopyFS(filepath.Join(next, name), os.DirFS(f.path)); err == nil {
			err = os.Rename(filepath.Join(next, name), filepath.Join(dir, name))
		}
		_ = os.RemoveAll(next)
	}
	return name, errors.Annotate(err, "cannot keep the former version")
}

// about is where the version is, or, of one that git has, would be if it were kept: out of the way of
// those who look for tests.
func (f former) about() string {
	if f.commit == "" {
		return f.path
	}
	return ".former-" + f.commit
}

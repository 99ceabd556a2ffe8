package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/juju/errors"
)

// committed makes a directory with the files that the directory of a charm had in its git history
// before: in the last commit, if the files that git knows have changed since, else in
// the last one but one that changed any of them. commit is a short name of that commit; empty: there
// is no such history, or nothing that can tell of it.
func committed(ctx context.Context, charm, to string) (commit string, err error) {
	git := repository{ctx: ctx, dir: charm}
	top, err := git.do("rev-parse", "--show-toplevel")
	if err != nil {
		return "", nil // no git, or no repository
	}
	list, err := git.do("rev-list", "--max-count=2", "HEAD", "--", ".")
	commits := strings.Fields(list)
	if err != nil || len(commits) == 0 {
		return "", nil // nothing was committed
	}
	changed, err := git.do("diff", "--name-only", "HEAD", "--", ".")
	if err != nil {
		return "", errors.Annotate(err, "cannot compare the charm with its git history")
	}
	switch {
	case changed != "":
		commit = commits[0]
	case len(commits) > 1:
		commit = commits[1]
	default:
		return "", nil
	}
	tree, err := git.do("rev-parse", "--verify", "--quiet", commit+":./")
	if err != nil {
		return "", nil // it was elsewhere then
	}
	// An index of its own: the repository's stays as it is.
	whole := repository{ctx: ctx, dir: top, index: to + ".index"}
	defer os.Remove(whole.index)
	for _, args := range [][]string{{"read-tree", tree}, {"checkout-index", "--all", "--prefix=" + to + string(filepath.Separator)}} {
		if _, err := whole.do(args...); err != nil {
			return "", errors.Annotate(err, "cannot read the charm's git history")
		}
	}
	return commit[:min(len(commit), 9)], nil
}

// repository is a directory of a git repository. index is the file of an index; empty: the
// repository's.
type repository struct {
	ctx        context.Context
	dir, index string
}

// do has git do something that changes nothing in the repository, and returns what it prints.
func (r repository) do(args ...string) (string, error) {
	cmd := exec.CommandContext(r.ctx, "git", append([]string{"-C", r.dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0")
	if r.index != "" {
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+r.index)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		err = errors.Errorf("git %s: %v: %s", args[0], err, strings.Join(strings.Fields(said.String()), " "))
	}
	return strings.TrimSpace(string(out)), err
}

// former is the version that a check upgrades from.
type former struct {
	// path is where it is; empty: the charm is upgraded to itself.
	path string
	// commit is that of the charm's git history; empty: somebody has named the path.
	commit string
}

// formerOf is the version that a flag names, or else the one that git has.
func (a testVerbs) formerOf(charm, from, work string) (former, error) {
	if from != "" {
		path, err := filepath.Abs(from)
		return former{path: path}, errors.Trace(err)
	}
	if info, err := os.Stat(charm); err != nil || !info.IsDir() {
		return former{}, nil
	}
	path := filepath.Join(work, "former")
	commit, err := committed(a.Context(), charm, path)
	if err != nil || commit == "" {
		return former{}, err
	}
	return former{path, commit}, nil
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
	name := "former-" + f.commit
	if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
		return name, nil
	}
	return name, errors.Annotate(os.CopyFS(filepath.Join(dir, name), os.DirFS(f.path)), "cannot keep the former version")
}

// about says which version it is, for people.
func (f former) about() string {
	if f.commit == "" {
		return f.path
	}
	return fmt.Sprintf("former-%s", f.commit)
}

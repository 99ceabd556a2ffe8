package cli

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/check"
)

// committed makes a directory with the files that the directory of a charm had in its git history
// before: in the last commit, if the files that git knows have changed since, else in
// the last one but one that changed any of them. commit is a short name of that commit; empty: there
// is no such history, or nothing that can tell of it.
func committed(ctx context.Context, charm, to string) (commit string, err error) {
	if _, err := exec.LookPath("git"); err != nil {
		return "", nil
	}
	git := repository{ctx: ctx, dir: charm}
	top, err := git.do("rev-parse", "--show-toplevel")
	if err != nil {
		if strings.Contains(err.Error(), "not a git repository") {
			err = nil
		}
		return "", errors.Annotate(err, "cannot read the charm's git history")
	}
	list, err := git.do("rev-list", "--max-count=2", "--first-parent", "HEAD", "--", ".")
	commits := strings.Fields(list)
	if err != nil || len(commits) == 0 {
		return "", nil // nothing was committed
	}
	changed, err := git.do("diff", "--name-only", "--no-ext-diff", "HEAD", "--", ".")
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
	if files, err := git.do("ls-tree", "-r", tree); err != nil || strings.Contains("\n"+files, "\n160000 ") {
		return "", errors.Annotate(err, "cannot read the charm's git history") // what submodules have is elsewhere
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

// do has git do something that changes nothing in the repository, and returns what it prints. Of
// the programs that the repository's configuration names only filters of files run.
func (r repository) do(args ...string) (string, error) {
	cmd := exec.CommandContext(r.ctx, "git", append([]string{"-C", r.dir, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}, args...)...)
	// Git has told its hooks, which a check may be called by, of another directory.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return slices.ContainsFunc([]string{"GIT_DIR=", "GIT_WORK_TREE=", "GIT_INDEX_FILE=", "GIT_PREFIX=", "GIT_COMMON_DIR=", "GIT_OBJECT_DIRECTORY="}, func(own string) bool { return strings.HasPrefix(v, own) })
	})
	cmd.Env = append(cmd.Env, "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
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
	commit, err := committed(a.Context(), charm, path)
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

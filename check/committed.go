package check

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/juju/errors"
)

// Committed makes the directory to, a full path, with the files that the directory of a charm had
// before in its git history: in the last commit, if the files that git knows have changed since,
// else in the last one but one that changed any of them. commit is the beginning of that commit's
// hash; empty: there is no such history, or no git, and to isn't made. The error says what git said.
func Committed(ctx context.Context, charm, to string) (commit string, err error) {
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

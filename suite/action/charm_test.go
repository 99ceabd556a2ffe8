package action_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fetched is the action as a runner has it.
func fetched(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = here
	names, err := list.Output()
	if err != nil {
		t.Skipf("skipped: this is no clone: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		if name != "action.yml" {
			copied(t, filepath.Join(here, name), filepath.Join(dir, name))
		}
	}
	copied(t, filepath.Join(here, "action.yml"), filepath.Join(dir, "action.yml"))
	return dir
}

// copied copies a file, or a link, with its mode; one that isn't there is left out.
func copied(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Lstat(from)
	if os.IsNotExist(err) {
		return
	}
	must(t, err)
	must(t, os.MkdirAll(filepath.Dir(to), 0o755))
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		must(t, err)
		must(t, os.Symlink(target, to))
		return
	}
	b, err := os.ReadFile(from)
	must(t, err)
	must(t, os.WriteFile(to, b, info.Mode().Perm()))
}

// charm is the repository of a charm, with tests that pass and tests that fail.
func charm(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"metadata.yaml":             "name: app\n",
		"hooks/start":               "#!/bin/sh\nstatus-set active\n",
		"tests/good/boots.txtar":    "deploy $SCRIPT_DIR/../..\nsettle\nstatus app\nstdout active\n",
		"tests/good/nothing.txtar":  "# Nothing happens in a model without applications.\nsettle\n",
		"tests/bad/breaks.txtar":    "deploy $SCRIPT_DIR/../..\nsettle\nstatus app\nstdout blocked\n",
		"tests/good/test_it.py":     "def test_it_comes_up(unitd):\n    unitd.deploy('.', 'app')\n    unitd.settle()\n    assert unitd.status('app').status == 'active'\n",
		"tests/bad/test_another.py": "def test_another(unitd):\n    assert unitd.hooks('app/0') == []\n",
		"what tests need.txt":       "pytest==" + pinned(t, "pytest") + "\njubilant==" + pinned(t, "jubilant") + "\n",
	} {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o755))
	}
	return dir
}

// pinned is the version of a package from PyPI that the other tests have, so that it is
// fetched once.
func pinned(t *testing.T, name string) string {
	t.Helper()
	for line := range strings.Lines(read(t, filepath.Join(here, "clients", "requirements.txt"))) {
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), name+"=="); ok {
			return version
		}
	}
	t.Fatalf("no version of %s is pinned", name)
	return ""
}

// environment is what a job's steps have beside what the runner sets: where Go and pip
// keep and find what they need, and no settings of unitd and make of who runs the tests.
func environment(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	must(t, err)
	caches := strings.Fields(string(out))
	cache, err := os.UserCacheDir()
	must(t, err)
	env := []string{"UNITD_ISOLATE=off", "GOCACHE=" + caches[0], "GOMODCACHE=" + caches[1], "PIP_CACHE_DIR=" + filepath.Join(cache, "pip")}
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		upper := strings.ToUpper(name)
		for _, prefix := range []string{"GO", "PIP_", "SSL_", "REQUESTS_", "LANG", "TMPDIR"} {
			if strings.HasPrefix(upper, prefix) || strings.HasSuffix(upper, "_PROXY") {
				env = append(env, pair)
				break
			}
		}
	}
	return env
}

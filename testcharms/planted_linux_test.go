package testcharms_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pebble/pebbletest"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
	"github.com/unitd/unitd/testcharms"
	"github.com/unitd/unitd/testcharms/images"
	"github.com/unitd/unitd/workload"
)

// plantedBug is a bug in a charm that is sound without it, and a scenario that shows it.
type plantedBug struct {
	promise, name string
	charm         string // one of this package
	hard          bool   // one of those that are harder to find
	patch, script string // absolute paths
}

// plantedBugs are those in the folder planted. Each patch begins with what it is about, one
// "Name: value" on a line, and then says in words what is wrong.
func plantedBugs(t *testing.T) (all []plantedBug) {
	t.Helper()
	patches, err := filepath.Glob(filepath.Join("planted", "*", "*.patch"))
	if err != nil || len(patches) == 0 {
		t.Fatalf("there are no planted bugs (%v)", err)
	}
	for _, path := range patches {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(text), "\n\n")
		of := map[string]string{}
		for line := range strings.Lines(head) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			of[name] = value
		}
		if path, err = filepath.Abs(path); err != nil {
			t.Fatal(err)
		}
		b := plantedBug{
			promise: filepath.Base(filepath.Dir(path)), name: strings.TrimSuffix(filepath.Base(path), ".patch"),
			charm: of["Charm"], hard: of["Hard"] == "yes", patch: path, script: strings.TrimSuffix(path, ".patch") + ".txtar",
		}
		if of["Promise"] != b.promise || b.charm == "" || of["Hard"] != "yes" && of["Hard"] != "no" {
			t.Errorf("%s begins with %q", path, head)
		}
		if _, err := os.Stat(b.script); err != nil {
			t.Errorf("%s has no scenario: %v", path, err)
		}
		all = append(all, b)
	}
	return all
}

// patched is a copy of a charm as it is when it has been packed, with a patch.
func patched(t *testing.T, charm, dir, patch string) {
	t.Helper()
	made := ""
	if _, err := os.Stat(filepath.Join(charm, "src")); err == nil {
		made = testcharms.CopyPython(t, charm, venvOfOps(t))
	} else {
		made = testcharms.Copy(t, charm)
	}
	if err := os.Rename(made, dir); err != nil {
		t.Fatal(err)
	}
	if patch != "" {
		apply(t, dir, patch)
	}
}

func apply(t *testing.T, dir, patch string) {
	t.Helper()
	apply := exec.Command("git", "apply", patch)
	apply.Dir = dir
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("cannot apply %s: %v: %s", patch, err, out)
	}
}

// TestEachPromiseHasPlantedBugs: two at least, one of which is hard to find, and each is
// Python still.
func TestEachPromiseHasPlantedBugs(t *testing.T) {
	t.Parallel()
	number, hard := map[string]int{}, map[string]int{}
	for _, b := range plantedBugs(t) {
		number[b.promise]++
		if b.hard {
			hard[b.promise]++
		}
		dir := testcharms.Copy(t, b.charm)
		apply(t, dir, b.patch)
		if out, err := exec.Command("python3", "-m", "py_compile", filepath.Join(dir, "src", "charm.py")).CombinedOutput(); err != nil {
			t.Errorf("%s/%s: %v: %s", b.promise, b.name, err, out)
		}
	}
	for promise, n := range number {
		if n < 2 || hard[promise] == 0 {
			t.Errorf("%s has %d bugs, %d of them hard to find", promise, n, hard[promise])
		}
	}
}

// TestHostPlantedBugsShow: the scenario beside each bug passes with the charm as it is, and
// fails with the bug.
func TestHostPlantedBugsShow(t *testing.T) {
	t.Parallel()
	if os.Getenv("UNITD_TEST_LONG") == "" {
		t.Skip("takes minutes; set UNITD_TEST_LONG=1")
	}
	if os.Geteuid() != 0 {
		t.Skip("units with machines of their own need root")
	}
	if etcdtest.OnEtcd() {
		t.Skip("the worlds of scripts have stores of their own")
	}
	image := images.WriteOCI(t, images.Web(t), "web.tar")
	for _, b := range plantedBugs(t) {
		t.Run(b.promise+"/"+b.name, func(t *testing.T) {
			t.Parallel()
			out, err := b.try(t, "", image)
			switch {
			case err != nil:
				t.Errorf("as it is: %v\n%s", err, out)
			case strings.Contains(out, "1 skipped"):
				t.Skipf("%s", out)
			}
			out, err = b.try(t, b.patch, image)
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(out, "FAIL: ") {
				t.Errorf("with the bug: %v\n%s", err, out)
			}
		})
	}
}

// TestHostASoundCharmIsSound: pantry is so in what readers have found, too.
func TestHostASoundCharmIsSound(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 || os.Getenv("UNITD_TEST_LONG") == "" || etcdtest.OnEtcd() {
		t.Skip("takes minutes, and root; set UNITD_TEST_LONG=1")
	}
	scripts, err := filepath.Glob(filepath.Join("planted", "sound", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("there are no scenarios (%v)", err)
	}
	for _, script := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(script), ".txtar"), func(t *testing.T) {
			t.Parallel()
			if out, err := (plantedBug{charm: "pantry", script: script}).try(t, "", ""); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// try runs the bug's scenario with the charm and a patch of it.
func (b plantedBug) try(t *testing.T, patch, image string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	patched(t, b.charm, filepath.Join(dir, "charm"), patch)
	text, err := os.ReadFile(b.script)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "$SCRIPT_DIR/former") {
		former, err := filepath.Abs(filepath.Join("planted", "former.patch"))
		if err != nil {
			t.Fatal(err)
		}
		patched(t, b.charm, filepath.Join(dir, "former"), former)
	}
	if err := os.WriteFile(filepath.Join(dir, "scenario.txtar"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(unitd(t), "test", "--isolate=on", filepath.Join(dir, "scenario.txtar"))
	if image != "" {
		if err := os.Symlink(image, filepath.Join(dir, "web.tar")); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(string(text), "[!containers]") {
		cmd.Env = append(os.Environ(), workload.PebbleVariable+"="+pebbletest.Program(t))
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestThePageOfPromisesShowsThePlantedBugs: it names each, and the code that it shows of one is
// what the patch changes, the other way round.
func TestThePageOfPromisesShowsThePlantedBugs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "docs", "charm-promises.md"))
	if err != nil {
		t.Fatal(err)
	}
	rest := string(text)
	shown := map[string]bool{}
	for _, b := range plantedBugs(t) {
		link := "(../testcharms/planted/" + b.promise + "/" + b.name + ".patch)"
		if strings.Count(rest, link) != 1 {
			t.Errorf("it names %s %d times", link, strings.Count(rest, link))
			continue
		}
		_, after, _ := strings.Cut(rest, link)
		block, ok := strings.CutPrefix(strings.TrimLeft(after, ")\n"), "```diff\n")
		if !ok {
			continue
		}
		shown[b.promise] = true
		patch, err := os.ReadFile(b.patch)
		if err != nil {
			t.Fatal(err)
		}
		changes := map[string]bool{}
		for line := range strings.Lines(string(patch)) {
			changes[line[:1]+strings.TrimSpace(line[1:])] = true
		}
		block, _, _ = strings.Cut(block, "```")
		for line := range strings.Lines(block) {
			turned, text := map[byte]string{'-': "+", '+': "-"}[line[0]], strings.TrimSpace(line[1:])
			if turned != "" && !changes[turned+text] {
				t.Errorf("%s: %s shows %q", link, "docs/charm-promises.md", line)
			}
		}
	}
	for _, b := range plantedBugs(t) {
		if !shown[b.promise] {
			t.Errorf("it shows no code of a bug that breaks %s", b.promise)
		}
	}
}

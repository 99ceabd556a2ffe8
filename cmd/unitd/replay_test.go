package main_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unitd/unitd/testcharms"
)

// terminal runs unitd in a directory and a data directory of its own.
type terminal struct {
	testing.TB
	dir string
	env []string
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	temp, err := os.MkdirTemp("", "u") // sockets are in it
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{TB: t, dir: t.TempDir()}
	term.env = append(os.Environ(), "UNITD_DATA="+filepath.Join(term.dir, "data"), "TMPDIR="+temp,
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Cleanup(func() {
		term.run(0, "shutdown")
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		if err := os.RemoveAll(temp); err != nil {
			t.Error(err)
		}
	})
	return term
}

// run runs unitd, which has to end with that exit code, and returns all that it
// has printed.
func (t *terminal) run(code int, args ...string) string {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(bin, "unitd"), args...)
	cmd.Dir, cmd.Env = t.dir, t.env
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("unitd %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, out)
	}
	return string(out)
}

// recorded takes the recording of the newest run of a unit, after "--failed"
// the newest that has failed, and takes the model away.
func (t *terminal) recorded(args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.txtar")
	t.run(0, append([]string{"record", "-o", file}, args...)...)
	t.run(0, "shutdown")
	if err := os.RemoveAll(filepath.Join(t.dir, "data")); err != nil {
		t.Fatal(err)
	}
	return file
}

// edit replaces text in a file, which has it.
func edit(t *testing.T, file, old, new string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b, []byte(old)) {
		t.Fatalf("%s has no %q", file, old)
	}
	if err := os.WriteFile(file, bytes.ReplaceAll(b, []byte(old), []byte(new)), 0o755); err != nil {
		t.Fatal(err)
	}
}

// contain checks what was printed.
func contain(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}

// tree is all files below dir.
func tree(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("find", dir, "-printf", "%P %s %T@\n").CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestAFailingOpsHookReplaysElsewhere(t *testing.T) {
	t.Parallel()
	venv := os.Getenv("UNITD_TEST_VENV")
	if venv == "" {
		venv = filepath.Join("..", "..", ".venv")
	}
	if _, err := os.Stat(venv); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("CI has to run the Ops charm: %v", err)
		}
		t.Skipf("skipped: there is no environment with Ops; \"make venv\" makes one (%v)", err)
	}
	charm := testcharms.CopyOps(t, venv)
	source := filepath.Join(charm, "src", "charm.py")
	edit(t, source, "        self._stored.events += 1\n", `        self._stored.events += 1
        if self.config["greeting"] == "boom":
            logger.warning("about to fail, after %d events", self._stored.events)
            secret = self.unit.add_secret({"token": "only-for-the-charm"}, label="made")
            secret.set_info(description="made in " + self.unit.name)
            for read in secret, self.model.get_secret(id=secret.id), self.model.get_secret(label="made"):
                logger.warning("%s has %s, revision %s", secret.id, *read.peek_content(), read.get_info().revision)
            raise RuntimeError("no way on")
`)
	term := newTerminal(t)
	term.run(0, "deploy", charm)
	term.run(0, "wait", "--timeout", "60s")
	term.run(0, "config", "opsy", "greeting=boom")
	term.run(1, "wait", "--timeout", "60s")
	file := term.recorded("opsy/0", "--failed")

	elsewhere := newTerminal(t)
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(charm, moved); err != nil {
		t.Fatal(err)
	}
	before := tree(t, moved)
	recording, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(recording, []byte("only-for-the-charm")) || !bytes.Contains(recording, []byte("secret:")) {
		t.Errorf("of the secret it has:\n%s", recording)
	}
	said := elsewhere.run(0, "replay", file, "--charm", moved, "-v")
	// What it has stored in earlier hooks is there.
	contain(t, said, `"about to fail, after 3 events"`, "the same as recorded: ", "exit code 1")
	if after := tree(t, moved); after != before {
		t.Errorf("the charm was changed\nfrom %s\nto %s", before, after)
	}

	source = filepath.Join(moved, "src", "charm.py")
	edit(t, source, "about to fail, after", "failing, after")
	said = elsewhere.run(1, "replay", file, "--charm", moved)
	contain(t, said, " differs\n  recorded  juju-log --log-level WARNING -- \"about to fail, after 3 events\"\n"+
		"  now       juju-log --log-level WARNING -- \"failing, after 3 events\"\n", "ERROR the replay differs from the recording: call ")

	edit(t, source, `== "boom"`, `== "bang"`)
	said = elsewhere.run(1, "replay", file, "--charm", moved)
	contain(t, said, " differs\n  recorded  juju-log --log-level WARNING ", "\n  now       relation-ids db ", "ERROR not in the recording")
}

func TestBashHooksReplayElsewhereAlsoWithPasswordsThatTheyMake(t *testing.T) {
	t.Parallel()
	term := newTerminal(t)
	ledger, shop := testcharms.Copy(t, "ledger"), testcharms.Copy(t, "shop")
	term.run(0, "deploy", ledger)
	term.run(0, "deploy", shop)
	term.run(0, "wait", "--timeout", "60s")
	term.run(0, "integrate", "shop", "ledger")
	term.run(0, "wait", "--timeout", "60s")
	files := map[string]string{}
	// The fifth is db-relation-created, which the charm hasn't.
	for _, run := range []string{"1", "2", "3", "4", "6", "7"} {
		file := filepath.Join(t.TempDir(), "ledger.txtar")
		term.run(0, "record", "ledger/0", run, "-o", file)
		files[file] = ledger
	}
	file := term.recorded("shop/0")
	files[file] = shop
	made := 0
	elsewhere := newTerminal(t)
	for file, charm := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte("password.0=redacted-")) {
			made++
		}
		contain(t, elsewhere.run(0, "replay", file, "--charm", charm), "the same as recorded: ")
	}
	if made != 1 || len(files) < 5 {
		t.Errorf("of %d hooks %d make a password", len(files), made)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	contain(t, string(b), "argv: relation-get -r db:0 password ledger/0\n", "\nstdout:\n  redacted-1\n")
	edit(t, filepath.Join(shop, "lib", "shop.sh"), "connected to", "uses")
	contain(t, elsewhere.run(1, "replay", file, "--charm", shop),
		"  recorded  status-set active \"connected to ledger/0 as shop\"\n  now       status-set active \"uses ledger/0 as shop\"\n")
}

func TestAGoCharmReplaysElsewhere(t *testing.T) {
	t.Parallel()
	term := newTerminal(t)
	charm := testcharms.Copy(t, "gobin")
	term.run(0, "deploy", charm)
	term.run(0, "wait", "--timeout", "60s")
	file := term.recorded("gobin/0")
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(charm, moved); err != nil {
		t.Fatal(err)
	}
	elsewhere := newTerminal(t)
	contain(t, elsewhere.run(0, "replay", file, "--charm", moved), "the same as recorded: ")
	edit(t, file, "ready, without a database", "ready, with a database")
	contain(t, elsewhere.run(1, "replay", file, "--charm", moved), " differs\n", "ready, without a database", "ERROR the replay differs")
}

package clients

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/testcharms"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testcharms.RemovePrograms()
	os.Exit(code)
}

// TestHostJubilantsMethodsAndDataclasses: the tests in methods call each method of the
// library with each of its parameters, and see each field of its dataclasses filled, or
// listed with the reason. The last of them looks back at what was called.
// Source: docs/spec/juju-clients.md §2, docs/spec/cli-juju.md §1.
func TestHostJubilantsMethodsAndDataclasses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "gauge", "logger", "tide")
	if _, err := exec.LookPath("pebble"); os.Geteuid() == 0 && runtime.GOOS == "linux" && (err == nil || exists(filepath.Join(w.programs, "pebble"))) {
		w.env = append(w.env, "CLIENTS_CONTAINERS=1")
	}
	w.pytest("methods", 0)
}

// TestHostPytestJubilantsFixtures: models of a module's own with the host's architecture,
// which are gone afterwards; kept, used again and torn down as the options say; the
// logs written to files. Source: docs/spec/cli-juju.md §4.
func TestHostPytestJubilantsFixtures(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "gauge")
	models := func(want string) {
		t.Helper()
		if out, code := w.command("juju", "models", "--format", "json"); code != 0 || !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("models ends with %d:\n%s\nwant %s", code, out, want)
		}
	}
	w.pytest("plugin", 0)
	models(`"models":\[\]`)

	w.pytest("plugin", 0, "--juju-model", "kept", "--no-juju-teardown", "--juju-switch")
	models(`"short-name":"kept-test-fixtures".*"short-name":"kept-test-fixtures-other"`)
	if out, _ := w.command("juju", "switch"); out != "unitd:admin/kept-test-fixtures\n" {
		t.Errorf("the current model is %s", out)
	}
	w.pytest("plugin", 0, "--juju-model", "kept", "--no-juju-teardown", "--no-juju-setup")

	logs := filepath.Join(w.dir, "logs")
	w.pytest("plugin", 0, "--juju-model", "kept", "--juju-controller", "unitd", "--no-juju-setup", "--juju-dump-logs", logs)
	models(`"models":\[\]`)
	log, err := os.ReadFile(filepath.Join(logs, "unitd-kept-test-fixtures-juju-debug.log"))
	if err != nil || !bytes.Contains(log, []byte("unit-gauge-0")) {
		t.Errorf("the log is %q (%v)", log, err)
	}
	w.pytest("plugin", 0, "--juju-controller", "unitd", "--juju-cloud", "local")
}

// TestHostASuiteOfTwoOpsCharms: a suite as charms have it, with pytest-jubilant's
// fixture and two charms written with Ops: relation, secret, action, scale, upgrade.
func TestHostASuiteOfTwoOpsCharms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "mint", "purse")
	w.pytest("suite", 0)
}

// world is a home with a program called juju, the clients from PyPI, and charms.
type world struct {
	*testing.T
	dir, python, programs string
	env                   []string
}

// newWorld has those charms, of this folder or of testcharms.
func newWorld(t *testing.T, charms ...string) *world {
	t.Helper()
	programs, err := testcharms.Programs()
	if err != nil {
		t.Fatal(err)
	}
	if programs, err = filepath.Abs(programs); err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, programs: programs, python: filepath.Join(venv(t), "bin", "python")}
	// Not t.TempDir: sockets have short paths.
	if w.dir, err = os.MkdirTemp("", "unitd-clients-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(w.dir) })
	bin := filepath.Join(w.dir, "bin")
	w.must(os.Mkdir(bin, 0o755))
	w.must(os.Symlink(filepath.Join(programs, "unitd"), filepath.Join(bin, "juju")))
	w.env = append(os.Environ(),
		"HOME="+w.dir, "UNITD_DATA="+filepath.Join(w.dir, "data"), "PATH="+bin+":"+programs+":"+os.Getenv("PATH"),
		"CLIENTS_CHARMS="+filepath.Join(w.dir, "charms"), "PYTHONDONTWRITEBYTECODE=1",
		"PYTHONPATH="+filepath.Join(venv(t), "python"), "UNITD_STORE=", "JUJU_MODEL=", "JUJU_CONTROLLER=",
	)
	t.Cleanup(func() { w.command("juju", "shutdown") })
	for _, name := range charms {
		w.charm(name)
	}
	return w
}

// venv is the environment that "make venv" keeps, with the clients in it.
func venv(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("UNITD_TEST_VENV")
	if dir == "" {
		dir = filepath.Join("..", ".venv")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "python", "jubilant")); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("CI has to run the clients: %v", err)
		}
		t.Skipf("skipped: there is no environment with Jubilant; \"make venv\" makes one (%v)", err)
	}
	return dir
}

// charm puts a charm where the Python tests find it, with Ops in it if it is written
// with Ops.
func (w *world) charm(name string) {
	w.Helper()
	from := filepath.Join("charms", name)
	if _, err := os.Stat(from); err != nil {
		from = testcharms.Dir(name)
		if _, err := os.Stat(filepath.Join(from, "src", "charm.py")); err == nil {
			from = testcharms.CopyPython(w, name, venv(w.T))
		}
	}
	w.must(os.CopyFS(filepath.Join(w.dir, "charms", name), os.DirFS(from)))
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// command runs a program of this world, and returns its output and its exit code.
func (w *world) command(name string, args ...string) (string, int) {
	w.Helper()
	var path string
	for _, pair := range w.env {
		if list, ok := strings.CutPrefix(pair, "PATH="); ok {
			path = list // the last one is what counts
		}
	}
	if !strings.Contains(name, "/") {
		for _, dir := range filepath.SplitList(path) {
			if full := filepath.Join(dir, name); exists(full) {
				name = full
				break
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var out bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = w.env, &out, &out
	if err := cmd.Run(); cmd.ProcessState == nil {
		w.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// passed are the tests that a run of pytest says have passed.
var passed = regexp.MustCompile(`(?m)^.*\b(\d+) passed`)

// pytest runs the tests of a folder or file, and returns what it prints; that there
// were any is looked at too.
func (w *world) pytest(path string, code int, args ...string) string {
	w.Helper()
	start := time.Now()
	out, got := w.command(w.python, append([]string{"-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", path}, args...)...)
	if got != code || code == 0 && !passed.MatchString(out) {
		w.Fatalf("pytest %s ended with %d, want %d:\n%s", path, got, code, out)
	}
	w.Logf("pytest %s took %s", path, time.Since(start).Round(100*time.Millisecond))
	return out
}

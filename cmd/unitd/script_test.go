package main_test

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/juju/errors"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
	"github.com/unitd/unitd/testcharms"
)

// TestScripts runs what a user can type: each script in testdata/script is a
// terminal session with the claim that it proves in its first line.
//
// A script has a home, a data directory and agents of its own, and real
// programs: unitd and the hook tool client. Beside the commands of package
// testscript there are
//
//	[!] unitd ARGS...     run unitd; it must succeed (!: end with exit code 1)
//	refuse ARGS...        as "! unitd", and the model must stay as it is
//	misuse ARGS...        as refuse, with exit code 2
//	hooks UNIT WORDS...   the unit's hook runs, all of them, are these; a
//	                      leading ... leaves out the first ones; see cmdHooks
//	[!] json KEYS... V    the last output, read as JSON, has the value V there
//	                      (!: nothing there)
//	crash                 end the agent by SIGKILL and wait until it has gone
//	agent-ended           wait until the data directory has no agent any more
//	mkfifo NAMES...       make named pipes, by which hooks and scripts wait for
//	                      each other
//	damage FILE [OLD NEW] change what a file has, as a bad disk does; see cmdDamage
//	sql FILE STATEMENT    change a database of SQLite
//	zip FILE ENTRIES...   make an archive, with any entry names; see cmdZip
//	web-image FILE        write the image of testcharms/images, an OCI archive
//	hub DIR               start a hub for the charms in DIR; $CHARMHUB_URL is its URL
//	hub-ends              end it
//	small-disk DIR MIB    mount a disk of that size; the script asks for [mount]
//	[etcd]                is true where the script's models are in etcd
func TestScripts(t *testing.T) {
	t.Parallel()
	files, ofHost := scripts(t)
	for _, file := range ofHost {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Skip("TestHostScripts runs what isolated units need a host for")
		})
	}
	runScripts(t, scriptDir, files, nil)
}

// TestHostScripts runs the scripts that ask whether units can be isolated: what
// they do then takes root, networks, and the packages of Debian.
func TestHostScripts(t *testing.T) {
	t.Parallel()
	_, ofHost := scripts(t)
	runScripts(t, scriptDir, ofHost, nil)
}

const scriptDir = "script"

// scripts are the files in testdata/script, and those of them that are for
// TestHostScripts.
func scripts(t *testing.T) (files, ofHost []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join("testdata", scriptDir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		text, err := os.ReadFile(file)
		switch {
		case err != nil:
			t.Fatal(err)
		case bytes.Contains(text, []byte("\n[isolate]")) || bytes.Contains(text, []byte("\n[!isolate]")):
			ofHost = append(ofHost, file)
		default:
			files = append(files, file)
		}
	}
	return files, ofHost
}

// TestHostScriptsWithUsers runs those in testdata/secured with an etcd that wants
// certificates and users: $ROOT is its store for who may do everything,
// $SOMEBODY for who has a certificate and is yet to name its user.
func TestHostScriptsWithUsers(t *testing.T) {
	t.Parallel()
	runScripts(t, "secured", nil, func(t testing.TB, e *testscript.Env) {
		ca, base := etcdtest.Secured(t, e.WorkDir)
		root := ca.As(t, base, "root")
		etcdtest.EnableUsers(t, root)
		e.Setenv("ROOT", root)
		e.Setenv("SOMEBODY", ca.As(t, base, "somebody"))
	})
}

// onEtcd are the scripts that run on etcd too whenever tests run: what commands
// read and write, what agents watch, and what becomes of one that is killed.
// With UNITD_TEST_LONG all do.
var onEtcd = []string{
	"a-trusted-charm-has-the-kubernetes-api",
	"agent-killed-after-the-commit-runs-nothing-again",
	"agent-upgraded-in-a-hook-goes-on-with-it",
	"application-removed-leaves-an-empty-model",
	"backup-of-a-lost-store-meets-its-directory",
	"backup-restored-is-rejoined",
	"backup-under-load-is-restored-elsewhere",
	"commands-at-once-do-not-lose-anything",
	"controllers-are-made-reached-and-removed",
	"keys-for-secrets-come-to-hosts-that-join",
	"leader-removed-makes-another-one",
	"machine-that-nobody-joins-is-passed-over",
	"model-made-chosen-and-destroyed",
	"model-says-how-units-are-isolated",
	"relation-exchanges-settings",
	"secrets-are-added-granted-and-kept",
	"store-is-named-by-a-flag",
	"storage-is-listed-moved-and-removed",
	"store-has-one-agent-that-has-not-joined",
	"unit-subordinate-comes-and-goes-with-its-principal",
	"up-runs-the-shop-in-the-written-order",
}

// TestHostScriptsOnEtcd runs the scripts with UNITD_STORE set to a store in a real
// etcd, a prefix for each. Of those that prove scenarios of containers one runs, each
// day another.
func TestHostScriptsOnEtcd(t *testing.T) {
	t.Parallel()
	var files []string
	if os.Getenv("UNITD_TEST_LONG") == "" {
		for _, name := range onEtcd {
			files = append(files, filepath.Join("testdata", scriptDir, name+".txtar"))
		}
		ofContainers := containerScripts(t)
		files = append(files, ofContainers[time.Now().UTC().YearDay()%len(ofContainers)])
	}
	runScripts(t, scriptDir, files, func(t testing.TB, e *testscript.Env) { e.Setenv("UNITD_STORE", etcdtest.URL(t)) })
}

// containerScripts are the files that docs/container-scenarios.md names.
func containerScripts(t *testing.T) (files []string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "container-scenarios.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile("`([^`/]+\\.txtar)`").FindAllSubmatch(page, -1) {
		file := filepath.Join("testdata", scriptDir, string(name[1]))
		if _, err := os.Stat(file); err == nil && !slices.Contains(files, file) { // the others are of package script
			files = append(files, file)
		}
	}
	if len(files) < 5 {
		t.Fatalf("docs/container-scenarios.md names %q", files)
	}
	return files
}

// runScripts runs the files, or all scripts of a folder if there are none, after
// another preparation of each.
func runScripts(t *testing.T, folder string, files []string, prepare func(testing.TB, *testscript.Env)) {
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join("testdata", folder)
	if files != nil {
		dir = ""
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, Files: files,
		Setup: func(e *testscript.Env) error {
			if t, ok := e.T().(testing.TB); ok && prepare != nil {
				prepare(t, e)
			}
			return setUp(e, bin)
		},
		Condition: condition(prepare != nil),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"unitd":       cmdUnitd,
			"refuse":      cmdRefuse,
			"misuse":      cmdMisuse,
			"hooks":       cmdHooks,
			"json":        cmdJSON,
			"crash":       cmdCrash,
			"damage":      cmdDamage,
			"sql":         cmdSQL,
			"mkfifo":      cmdMkfifo,
			"agent-ended": cmdAgentEnded,
			"zip":         cmdZip,
			"small-disk":  cmdSmallDisk,
			"web-image":   cmdWebImage,
			"hub":         cmdHub,
			"certificate": cmdCertificate,
			"hub-ends":    cmdHubEnds,
		},
		RequireUniqueNames: true,
	})
}

// condition says what scripts can ask for: whether the store is in etcd, whether
// units can be isolated, whether there is time, and whether there is pip.
func condition(etcd bool) func(string) (bool, error) {
	return func(name string) (bool, error) {
		switch name {
		case "etcd":
			return etcd, nil
		case "isolate": // units can have machines of their own
			return mayIsolate()
		case "root": // commands can be those of other users
			return os.Geteuid() == 0, nil
		case "mount": // a disk of a script's own can be mounted
			return mayMount(), nil
		case "lightkube": // $VENV is a virtual environment with Ops, and lightkube beside it
			_, err := os.Stat(filepath.Join(venv(), "lightkube"))
			return err == nil, nil
		case "system-pebble": // exec:pebble holds for all scripts once one has asked for it, on whatever PATH
			return slices.ContainsFunc(strings.Split(isolate.Path, ":"), func(dir string) bool {
				_, err := os.Stat(filepath.Join(dir, "pebble"))
				return err == nil
			}), nil
		case "base": // $BASE is a root with systemd, which "make base" makes
			return os.Getenv("UNITD_TEST_BASE") != "", nil
		case "long":
			return os.Getenv("UNITD_TEST_LONG") != "", nil
		case "pip":
			return exec.Command("python3", "-m", "pip", "--version").Run() == nil, nil
		}
		return false, errors.NotFoundf("condition %q", name)
	}
}

// programs has unitd and, beside it, the hook tool client.
var programs = testcharms.Programs

// venv is the virtual environment of the tests, which "make venv" makes; empty: there
// is none.
func venv() string {
	path, err := filepath.EvalSymlinks(cmp.Or(os.Getenv("UNITD_TEST_VENV"), filepath.Join("..", "..", ".venv")))
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return ""
	}
	return path
}

// mayIsolate says whether units can have machines of their own, with networks.
var mayIsolate = sync.OnceValues(func() (bool, error) {
	bin, err := programs()
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "unitd-test-isolate-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	spec := isolate.Spec{Name: "try", Hostname: "try", ID: "try", Mode: model.IsolateOn, OS: isolate.HostOS}
	_, err = machine.NewCells(dir, filepath.Join(bin, "unitd")).Try(context.Background(), spec)
	if errors.Is(err, isolate.ErrNoRights) {
		return false, nil
	}
	return err == nil, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	etcdtest.Stop()
	testcharms.RemovePrograms()
	os.Exit(code)
}

// setUp gives a script its own world, and takes it down at the script's end,
// also if the script has failed.
func setUp(e *testscript.Env, bin string) error {
	home := filepath.Join(e.WorkDir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	// The sockets of agents are in it, and their paths have to be short.
	temp, err := os.MkdirTemp("", "u")
	if err != nil {
		return err
	}
	e.Setenv("TMPDIR", temp)
	e.Setenv("HOME", home)
	e.Setenv("UNITD_DATA", filepath.Join(e.WorkDir, "data"))
	e.Setenv("PATH", bin+string(os.PathListSeparator)+e.Getenv("PATH"))
	e.Setenv("TZ", "UTC")
	e.Setenv("UNITD_ISOLATE", "off")               // whatever rights the tests have; scripts that are about it say otherwise
	e.Setenv("CHARMHUB_URL", "http://127.0.0.1:1") // nobody is there
	e.Values[hubKey{}] = &scriptHub{}
	e.Setenv("BIN", bin)
	e.Setenv("STORE", cmp.Or(e.Getenv("UNITD_STORE"), e.Getenv("UNITD_DATA"))) // for other hosts
	charms, err := filepath.Abs(filepath.Join("..", "..", "testcharms"))
	if err != nil {
		return err
	}
	e.Setenv("CHARMS", charms)
	e.Setenv("VENV", venv())
	e.Setenv("BASE", os.Getenv("UNITD_TEST_BASE"))
	t, ok := e.T().(testing.TB)
	if !ok {
		return os.ErrInvalid
	}
	e.Defer(func() {
		takeDown(t, e)
		if err := os.RemoveAll(temp); err != nil {
			t.Error(err)
		}
	})
	return nil
}

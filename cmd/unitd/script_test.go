package main_test

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/juju/errors"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
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
//	zip FILE ENTRIES...   make an archive, with any entry names; see cmdZip
//	[etcd]                is true where the script's models are in etcd
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, scriptDir, nil, nil)
}

const scriptDir = "script"

// TestScriptsWithUsers runs those in testdata/secured with an etcd that wants
// certificates and users: $ROOT is its store for who may do everything,
// $SOMEBODY for who has a certificate and is yet to name its user.
func TestScriptsWithUsers(t *testing.T) {
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
	"agent-killed-after-the-commit-runs-nothing-again",
	"application-removed-leaves-an-empty-model",
	"commands-at-once-do-not-lose-anything",
	"leader-removed-makes-another-one",
	"model-made-chosen-and-destroyed",
	"relation-exchanges-settings",
	"secrets-are-added-granted-and-kept",
	"store-is-named-by-a-flag",
	"storage-is-listed-moved-and-removed",
	"store-has-one-agent-that-has-not-joined",
	"unit-subordinate-comes-and-goes-with-its-principal",
	"up-runs-the-shop-in-the-written-order",
}

// TestScriptsOnEtcd runs the scripts with UNITD_STORE set to a store in a real
// etcd, a prefix for each.
func TestScriptsOnEtcd(t *testing.T) {
	t.Parallel()
	var files []string
	if os.Getenv("UNITD_TEST_LONG") == "" {
		for _, name := range onEtcd {
			files = append(files, filepath.Join("testdata", scriptDir, name+".txtar"))
		}
	}
	runScripts(t, scriptDir, files, func(t testing.TB, e *testscript.Env) { e.Setenv("UNITD_STORE", etcdtest.URL(t)) })
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
			"mkfifo":      cmdMkfifo,
			"agent-ended": cmdAgentEnded,
			"zip":         cmdZip,
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
		case "long":
			return os.Getenv("UNITD_TEST_LONG") != "", nil
		case "pip":
			return exec.Command("python3", "-m", "pip", "--version").Run() == nil, nil
		}
		return false, errors.NotFoundf("condition %q", name)
	}
}

// programs builds unitd and, beside it, the hook tool client, once for all
// tests, and returns their directory.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "unitd-test-")
	if err != nil {
		return "", err
	}
	for name, pkg := range map[string]string{"unitd": ".", "unitd-hooktool": "../hooktool"} {
		out, err := exec.Command("go", "build", "-o", filepath.Join(dir, name), pkg).CombinedOutput()
		if err != nil {
			os.RemoveAll(dir)
			return "", &exec.Error{Name: string(out), Err: err}
		}
	}
	return dir, nil
})

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
	if dir, err := programs(); err == nil {
		os.RemoveAll(dir)
	}
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
	e.Setenv("UNITD_ISOLATE", "off") // whatever rights the tests have; scripts that are about it say otherwise
	e.Setenv("BIN", bin)
	e.Setenv("STORE", cmp.Or(e.Getenv("UNITD_STORE"), e.Getenv("UNITD_DATA"))) // for other hosts
	charms, err := filepath.Abs(filepath.Join("..", "..", "testcharms"))
	if err != nil {
		return err
	}
	e.Setenv("CHARMS", charms)
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

package opsstate_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/opsstate"
)

// python is that of the environment that "make venv" keeps, with the real Ops.
func python(t *testing.T) string {
	t.Helper()
	venv := os.Getenv("UNITD_TEST_VENV")
	if venv == "" {
		venv = filepath.Join("..", ".venv")
	}
	path, err := filepath.Abs(filepath.Join(venv, "bin", "python"))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Skip(`there is no Ops here: "make venv" gets it`)
	}
	return path
}

var want = []opsstate.Event{{Name: "config_changed", Observer: "ShopCharm._on_config"}, {Name: "relation_changed", Observer: "ShopCharm/db._on_db"}}

// TestWhatTheRealOpsHasDeferredIsRead: as Ops itself writes it.
func TestWhatTheRealOpsHasDeferredIsRead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), opsstate.File)
	write := exec.Command(python(t), "-c", `
import sys
from ops.storage import SQLiteStorage
s = SQLiteStorage(sys.argv[1])
s.save_notice('ShopCharm/on/config_changed[3]', 'ShopCharm', '_on_config')
s.save_notice('ShopCharm/on/start[4]', 'ShopCharm', '_on_start')
s.save_notice('ShopCharm/db/relation_changed[5]', 'ShopCharm/db', '_on_db')
s.drop_notice('ShopCharm/on/start[4]', 'ShopCharm', '_on_start')
s.commit()
s.close()
`, file)
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := opsstate.Stored(content); err != nil || !slices.Equal(got, want) {
		t.Errorf("deferred are %v, %v", got, err)
	}
	// Cut off, as while it is being written, or something else.
	for _, bad := range [][]byte{nil, content[:100], []byte("no database"), content[:4096]} {
		if got, err := opsstate.Stored(bad); !errors.Is(err, errors.NotValid) {
			t.Errorf("of %d bytes: %v, %v", len(bad), got, err)
		}
	}
}

// TestWhatTheRealOpsKeepsInTheModelIsRead: with tools that stand for state-set and
// state-get, which keep one key in a file.
func TestWhatTheRealOpsKeepsInTheModelIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"state-set": "#!/bin/sh\ncat >$STATE\n",
		"state-get": "#!" + python(t) + "\nimport os, yaml\nprint(yaml.safe_load(open(os.environ['STATE']))['#notices#'] if os.path.exists(os.environ['STATE']) else '')\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "state")
	write := exec.Command(python(t), "-c", `
from ops.storage import JujuStorage
s = JujuStorage()
s.save_notice('ShopCharm/on/config_changed[3]', 'ShopCharm', '_on_config')
s.save_notice('ShopCharm/db/relation_changed[5]', 'ShopCharm/db', '_on_db')
`)
	write.Env = append(os.Environ(), "STATE="+file, "PATH="+dir+":"+os.Getenv("PATH"))
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	state := map[string]string{}
	if err := yaml.Unmarshal(b, &state); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	if got, err := opsstate.InModel(state); err != nil || !slices.Equal(got, want) {
		t.Errorf("of %q: %v, %v", b, got, err)
	}
}

func TestDeferredEventsInTheModelAreRead(t *testing.T) {
	t.Parallel()
	for text, test := range map[string]struct {
		want  []opsstate.Event
		wrong bool
	}{
		"- [ShopCharm/on/config_changed[3], ShopCharm, _on_config]\n":                                                                             {wrong: true}, // no list in YAML
		"- - ShopCharm/on/config_changed[3]\n  - ShopCharm\n  - _on_config\n- - ShopCharm/db/relation_changed[5]\n  - ShopCharm/db\n  - _on_db\n": {want: want},
		"[]\n":          {},
		"[[a, b]]":      {wrong: true},
		"{":             {wrong: true},
		"[[a, b, [c]]]": {wrong: true},
	} {
		got, err := opsstate.InModel(map[string]string{"#notices#": text})
		if !slices.Equal(got, test.want) || errors.Is(err, errors.NotValid) != test.wrong {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if got, err := opsstate.InModel(nil); got != nil || err != nil {
		t.Errorf("of nothing: %v, %v", got, err)
	}
}

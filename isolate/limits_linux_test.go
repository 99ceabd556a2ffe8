package isolate

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestLimitsAreWhatTheKernelTakes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limits      Limits
		memory, cpu string
	}{
		"none":                          {},
		"memory":                        {limits: Limits{MemoryBytes: 64 << 20}, memory: "67108864"},
		"half a processor":              {limits: Limits{CPUMillis: 500}, cpu: "50000 100000"},
		"two processors":                {limits: Limits{CPUMillis: 2000}, cpu: "200000 100000"},
		"the least that can be said":    {limits: Limits{CPUMillis: 1}, cpu: "1000 100000"},
		"memory and a tenth of the cpu": {limits: Limits{MemoryBytes: 1, CPUMillis: 100}, memory: "1", cpu: "10000 100000"},
	} {
		got := map[string]string{}
		for _, one := range tt.limits.all() {
			got[one.file] = one.value
		}
		if got["memory.max"] != tt.memory || got["cpu.max"] != tt.cpu {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// TestLimitsThatNothingKeepsAreLost in a directory that stands for a cgroup without
// controllers, and written where there are some.
func TestLimitsThatNothingKeepsAreLost(t *testing.T) {
	t.Parallel()
	limits := Limits{MemoryBytes: 1 << 20, CPUMillis: 100}
	dir := t.TempDir()
	above := filepath.Join(dir, "above")
	if limitable(filepath.Join(dir, "none"), above, limits) {
		t.Error("there are limits without a cgroup")
	}
	for _, d := range []string{dir, above} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d, "cgroup.subtree_control"), []byte("cpu memory\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !limitable(dir, above, limits) {
		t.Error("there are no limits where the controllers are on")
	}
	c := &Cell{cells: &Cells{Dir: dir}, record: record{Group: filepath.Join(above, "one")}}
	if c.makeGroup(above, limits); c.Lost() != "" || len(c.Unkept()) > 0 {
		t.Errorf("got %q", c.Lost())
	}
	for _, one := range limits.all() {
		if b, err := os.ReadFile(filepath.Join(c.record.Group, one.file)); err != nil || string(b) != one.value {
			t.Errorf("%s: %q, %v", one.file, b, err)
		}
	}

	// Each says why; what can be kept is.
	poor := filepath.Join(dir, "poor")
	write(t, filepath.Join(poor, "cgroup.subtree_control"), "cpu")
	write(t, filepath.Join(poor, "above", "cgroup.subtree_control"), "cpu")
	c.record.Group = filepath.Join(poor, "above", "one")
	c.makeGroup(filepath.Join(poor, "above"), limits)
	want := []Unkept{{"1048576 bytes of memory", "cgroup " + poor + ` has no controller "memory"`}}
	if !reflect.DeepEqual(c.Unkept(), want) || c.Lost() != "no limit to 1048576 bytes of memory: "+want[0].Why {
		t.Errorf("got %q, %q", c.Unkept(), c.Lost())
	}
	if b, err := os.ReadFile(filepath.Join(c.record.Group, "cpu.max")); err != nil || string(b) != "10000 100000" {
		t.Errorf("%q, %v", b, err)
	}

	c.record.Unkept, c.record.Group = nil, filepath.Join(dir, "cgroup.subtree_control", "one")
	c.makeGroup(filepath.Dir(c.record.Group), limits)
	why := "cannot make cgroup " + filepath.Join(dir, "cgroup.subtree_control") + ": not a directory"
	if want := []Unkept{{"1048576 bytes of memory", why}, {"0.1 processors", why}}; !reflect.DeepEqual(c.Unkept(), want) || c.record.Group != "" {
		t.Errorf("got %q, group %q", c.Unkept(), c.record.Group)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

package isolate

import (
	"os"
	"path/filepath"
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
		all := tt.limits.settings()
		if all["memory.max"] != tt.memory || all["cpu.max"] != tt.cpu {
			t.Errorf("%s: got %q", name, all)
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
	if err := c.makeGroup(above, limits); err != nil || c.Lost() != "" {
		t.Errorf("got %v, %q", err, c.Lost())
	}
	for name, want := range limits.settings() {
		if b, err := os.ReadFile(filepath.Join(c.record.Group, name)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	c.record.Group = filepath.Join(dir, "cgroup.subtree_control", "one")
	if err := c.makeGroup(filepath.Dir(c.record.Group), limits); err != nil || c.Lost() != lostLimits || c.record.Group != "" {
		t.Errorf("got %v, %q", err, c.Lost())
	}
}

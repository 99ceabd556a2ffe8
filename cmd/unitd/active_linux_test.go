package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/unitd/unitd/pebble/pebbletest"
	"github.com/unitd/unitd/testcharms/images"
)

// activation has an agent, charms whose hooks do next to nothing, one of them with a
// container, and that container's image.
type activation struct {
	testing.TB
	bin, dir, data, pebble string
	image                  string
	deployed               *[]string
}

func newActivation(tb testing.TB) activation {
	tb.Helper()
	if os.Geteuid() != 0 {
		tb.Skip("workload containers need root")
	}
	bin, err := programs()
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	a := activation{TB: tb, bin: bin, dir: dir, data: filepath.Join(dir, "data"), pebble: pebbletest.Program(tb), deployed: new([]string)}
	a.image = images.WriteOCI(tb, images.Web(tb), "web:latest")
	a.charm("plain", "name: plain\n", "start")
	a.charm("contained", "name: contained\ncontainers: {web: {resource: web-image}}\n"+
		"resources: {web-image: {type: oci-image}}\n", "web-pebble-ready")
	tb.Cleanup(func() {
		if len(*a.deployed) > 0 { // shutdown alone leaves units where they are
			a.unitd(append([]string{"remove-application", "--no-prompt"}, *a.deployed...)...)
			a.unitd("wait", "--timeout", "600s")
		}
		a.unitd("shutdown")
	})
	return a
}

// charm is a charm that is active once the hook has run.
func (a activation) charm(name, metadata, hook string) {
	a.Helper()
	hooks := filepath.Join(a.dir, name, "hooks")
	if err := os.MkdirAll(hooks, 0o755); err != nil {
		a.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(a.dir, name, "metadata.yaml"), []byte(metadata), 0o644); err != nil {
		a.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(hooks, hook), []byte("#!/bin/sh\nstatus-set active\n"), 0o755); err != nil {
		a.Fatal(err)
	}
}

func (a activation) unitd(args ...string) []byte {
	a.Helper()
	cmd := exec.Command(filepath.Join(a.bin, "unitd"), args...)
	cmd.Env = append(os.Environ(), "UNITD_DATA="+a.data, "UNITD_PEBBLE="+a.pebble)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		a.Fatalf("unitd %v: %v: %s", args, err, &said)
	}
	return out
}

// added is how long it takes from the call of deploy until all is settled, without
// the time that hooks ran.
func (a activation) added(charm, name string, more ...string) time.Duration {
	a.Helper()
	began := time.Now()
	a.unitd(append([]string{"deploy", filepath.Join(a.dir, charm), name, "--isolate"}, more...)...)
	*a.deployed = append(*a.deployed, name)
	a.unitd("wait", "--timeout", "600s")
	added := time.Since(began)
	var runs []struct{ Duration time.Duration }
	if err := json.Unmarshal(a.unitd("history", name+"/0", "--format", "json"), &runs); err != nil {
		a.Fatal(err)
	}
	if len(runs) < 4 {
		a.Fatalf("%s has run no more than %d hooks", name, len(runs))
	}
	for _, run := range runs {
		added -= run.Duration
	}
	return added
}

// contained is added, of the charm with a container.
func (a activation) contained(name string) time.Duration {
	return a.added("contained", name, "--resource", "web-image="+a.image)
}

// BenchmarkDeployToActive is the time from the call of deploy until the charm is
// active and all is settled, without its hooks, where the image is in the cache; and
// that as a multiple of what a charm without containers takes.
//
//	go test ./cmd/unitd -run '^$' -bench DeployToActive -benchtime 10x
func BenchmarkDeployToActive(b *testing.B) {
	a := newActivation(b)
	a.contained("first") // the image is in the cache from here on, and the agent runs
	var with, without []float64
	for i := 0; b.Loop(); i++ {
		with = append(with, a.contained(fmt.Sprintf("with%d", i)).Seconds())
		without = append(without, a.added("plain", fmt.Sprintf("without%d", i)).Seconds())
	}
	b.ReportMetric(0, "ns/op")
	slices.Sort(with)
	slices.Sort(without)
	median := with[len(with)/2]
	b.ReportMetric(1000*median, "ms-added")
	b.ReportMetric(median/without[len(without)/2], "x-without-container")
}

// TestHostAContainerMakesDeployLittleSlower: the bound is generous, as hosts are
// busy; the figure is the benchmark's.
func TestHostAContainerMakesDeployLittleSlower(t *testing.T) {
	t.Parallel()
	a := newActivation(t)
	a.contained("first")
	with, without := math.Inf(1), math.Inf(1)
	for i := range 3 {
		with = min(with, a.contained(fmt.Sprintf("with%d", i)).Seconds())
		without = min(without, a.added("plain", fmt.Sprintf("without%d", i)).Seconds())
	}
	t.Logf("%.3f s with a container, %.3f s without", with, without)
	if with > 10*without {
		t.Errorf("deploy takes %.3f s with a container, %.3f s without", with, without)
	}
}

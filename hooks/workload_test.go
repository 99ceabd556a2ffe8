package hooks_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// The workload hooks that the tables of this package's tests have.
var (
	ready  = hooks.Info{Kind: hooks.PebbleReady, Workload: "web", Boot: "b1"}
	notice = hooks.Info{Kind: hooks.PebbleCustomNotice, Workload: "web", NoticeID: "7", NoticeType: "custom", NoticeKey: "example.com/backup"}
)

// check is a hook about the check "up", with all of the notice that it came by.
func check(k hooks.Kind) hooks.Info {
	return hooks.Info{Kind: k, Workload: "web", CheckName: "up", NoticeID: "8", NoticeType: "change-update", NoticeKey: "12"}
}

// sidecar is place() for a unit with containers, on a host that knows of a
// Kubernetes.
func sidecar() hooks.Place {
	p := place()
	p.Sidecar = true
	p.Kubernetes = []string{"KUBERNETES_SERVICE_HOST=10.0.0.1", "KUBERNETES_SERVICE_PORT=443", "KUBERNETES_TOKEN=secret", "OPERATOR_DISPATCH=1"}
	return p
}

// workloadVariables are those of an environment that are about a container.
func workloadVariables(env []string) string {
	return strings.Join(slices.DeleteFunc(slices.Sorted(slices.Values(env)), func(v string) bool {
		return !strings.HasPrefix(v, "JUJU_WORKLOAD_") && !strings.HasPrefix(v, "JUJU_NOTICE_") && !strings.HasPrefix(v, "JUJU_PEBBLE_")
	}), " ")
}

func TestK014TheEnvironmentOfAUnitWithContainers(t *testing.T) {
	t.Parallel()
	env := hooks.Environ(hooks.Info{Kind: hooks.ConfigChanged}, sidecar())
	for _, want := range []string{
		"JUJU_MACHINE_ID=", "JUJU_AVAILABILITY_ZONE=", "JUJU_PRINCIPAL_UNIT=", "PATH=/tools:/bin:/charm/bin",
		"KUBERNETES_SERVICE_HOST=10.0.0.1", "KUBERNETES_SERVICE_PORT=443", "JUJU_DISPATCH_PATH=hooks/config-changed",
	} {
		if !slices.Contains(env, want) {
			t.Errorf("it hasn't %q: %q", want, env)
		}
	}
	for _, v := range env {
		if strings.HasPrefix(v, "KUBERNETES_TOKEN") || strings.HasPrefix(v, "OPERATOR_DISPATCH") || strings.HasPrefix(v, "JUJU_CONTAINER_NAMES") || strings.HasPrefix(v, "JUJU_AGENT_TOKEN") {
			t.Errorf("it has %q", v)
		}
	}
	if got := workloadVariables(env); got != "" {
		t.Errorf("a hook of the unit has %s", got)
	}
	machine := place()
	machine.Kubernetes, machine.CloudAPI = sidecar().Kubernetes, "1.31"
	mustHave(t, "config-changed on a machine", hooks.Environ(hooks.Info{Kind: hooks.ConfigChanged}, machine),
		hooks.Environ(hooks.Info{Kind: hooks.ConfigChanged}, place()))
}

func TestTheVariablesOfWorkloadHooks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		info hooks.Info
		want string
	}{
		{"K-015 pebble-ready", ready, "JUJU_WORKLOAD_NAME=web"},
		{"K-016 a custom notice", notice, "JUJU_NOTICE_ID=7 JUJU_NOTICE_KEY=example.com/backup JUJU_NOTICE_TYPE=custom JUJU_WORKLOAD_NAME=web"},
		{"K-017 check-failed", check(hooks.PebbleCheckFailed), "JUJU_PEBBLE_CHECK_NAME=up JUJU_WORKLOAD_NAME=web"},
		{"K-017 check-recovered", check(hooks.PebbleCheckRecovered), "JUJU_PEBBLE_CHECK_NAME=up JUJU_WORKLOAD_NAME=web"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := workloadVariables(hooks.Environ(c.info, sidecar())); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestK012ADashInAContainersNameIsKept, in the file that is run without a
// dispatch (K-020, K-021), and in all that a charm is told.
func TestK012ADashInAContainersNameIsKept(t *testing.T) {
	t.Parallel()
	h := hooks.Info{Kind: hooks.PebbleReady, Workload: "my-db"}
	if got := h.Path(); got != "hooks/my-db-pebble-ready" {
		t.Errorf("the file is %s", got)
	}
	env := hooks.Environ(h, sidecar())
	for _, want := range []string{"JUJU_HOOK_NAME=my-db-pebble-ready", "JUJU_DISPATCH_PATH=hooks/my-db-pebble-ready", "JUJU_WORKLOAD_NAME=my-db"} {
		if !slices.Contains(env, want) {
			t.Errorf("it hasn't %q", want)
		}
	}
}

func TestAWorkloadHookLacksNothing(t *testing.T) {
	t.Parallel()
	change := func(h hooks.Info, f func(*hooks.Info)) hooks.Info {
		f(&h)
		return h
	}
	for _, c := range []struct {
		name string
		info hooks.Info
		want string
	}{
		{"ready", ready, ""},
		{"a notice", notice, ""},
		{"a check with its notice", check(hooks.PebbleCheckFailed), ""},
		{"a check without one", hooks.Info{Kind: hooks.PebbleCheckRecovered, Workload: "web", CheckName: "up"}, ""},
		{"no container", hooks.Info{Kind: hooks.PebbleReady}, `"pebble-ready" hook requires a workload name`},
		{"a notice of no container", change(notice, func(h *hooks.Info) { h.Workload = "" }), `"pebble-custom-notice" hook requires a workload name`},
		{"no id", change(notice, func(h *hooks.Info) { h.NoticeID = "" }), `"pebble-custom-notice" hook requires a notice ID, type, and key`},
		{"no type", change(notice, func(h *hooks.Info) { h.NoticeType = "" }), `"pebble-custom-notice" hook requires a notice ID, type, and key`},
		{"no key", change(notice, func(h *hooks.Info) { h.NoticeKey = "" }), `"pebble-custom-notice" hook requires a notice ID, type, and key`},
		{"no check", hooks.Info{Kind: hooks.PebbleCheckFailed, Workload: "web"}, `"pebble-check-failed" hook requires a check name`},
		{"with a relation", change(ready, func(h *hooks.Info) { h.Endpoint = "db" }), "pebble-ready hook with a relation not valid"},
		{"with storage", change(ready, func(h *hooks.Info) { h.Storage = "data/0" }), "pebble-ready hook with storage not valid"},
		{"another hook with a container", hooks.Info{Kind: hooks.Start, Workload: "web"}, `start hook with workload "web" not valid`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := c.info.Validate()
			if c.want == "" && err == nil {
				return
			}
			if c.want == "" || !errors.Is(err, errors.NotValid) || err.Error() != c.want {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestWorkloadHooksThatAreTheSame(t *testing.T) {
	t.Parallel()
	newer := ready
	newer.Boot = "b2"
	other := ready
	other.Workload = "db"
	repeated := notice
	repeated.NoticeID = "9"
	switch {
	case !ready.Same(newer):
		t.Error("a later boot makes it another hook")
	case ready.Same(other):
		t.Error("another container's is the same hook")
	case notice.Same(repeated):
		t.Error("another notice's is the same hook")
	case !notice.Same(notice) || notice.IsNotice() == ready.IsNotice():
		t.Error("a notice isn't one")
	}
}

func TestTheHooksOfACharmWithContainers(t *testing.T) {
	t.Parallel()
	charm := model.Charm{Name: "web", Containers: map[string]model.ContainerSpec{"web": {}, "db": {}}}
	names := hooks.Names(charm, "web")
	for _, want := range []string{"db-pebble-ready", "web-pebble-custom-notice", "web-pebble-check-failed", "db-pebble-check-recovered"} {
		if !slices.Contains(names, want) {
			t.Errorf("it hasn't %s: %v", want, names)
		}
	}
}

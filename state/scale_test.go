package state_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/juju/errors"
	"pgregory.net/rapid"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// sidecar is a container charm, with storage.
func sidecar() model.Charm {
	return model.Charm{
		Name: "web", Containers: map[string]model.ContainerSpec{"web": {Resource: "img"}},
		Resources: map[string]model.ResourceSpec{"img": {Type: model.OCIImage}},
		Storage: map[string]model.StorageSpec{
			"data": {Type: model.Filesystem, CountMin: 1, CountMax: 1},
			"many": {Type: model.Filesystem, CountMin: 2, CountMax: -1, Location: "/srv"},
			"one":  {Type: model.Filesystem, CountMin: 1, CountMax: 1, Location: "/mnt"},
		},
	}
}

func (w *world) deploySidecar(units int) {
	w.Helper()
	w.ok(w.Deploy(w.ctx, state.DeployArgs{Application: "web", Charm: w.addCharm(sidecar()), Units: units}))
}

// unitsOf is "web/0 web/1-dying".
func (w *world) unitsOf(app string) string {
	w.Helper()
	units, err := w.Units(w.ctx)
	w.ok(err)
	var names []string
	for _, u := range units {
		if u.Name.Application() == app {
			name := string(u.Name)
			if u.Life != model.Alive {
				name += "-" + u.Life.String()
			}
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// takeOn is what an agent does with a new unit; end what it does when its unit goes.
func (w *world) takeOn(units ...model.UnitName) {
	w.Helper()
	for _, u := range units {
		w.ok(w.SetDeployed(w.ctx, u))
		all, err := w.StorageOf(w.ctx, u)
		w.ok(err)
		for _, s := range all {
			w.provide(u, s.ID)
		}
	}
}

func (w *world) end(u model.UnitName) {
	w.Helper()
	all, err := w.StorageOf(w.ctx, u)
	w.ok(err)
	for _, s := range all {
		w.ok(w.EndAttachment(w.ctx, u, s.ID))
	}
	// It stays at its places until the unit is gone.
	after, err := w.StorageOf(w.ctx, u)
	w.ok(err)
	w.is("storage", fmt.Sprint(len(after), len(state.Undetached(after))), fmt.Sprint(len(all), 0))
	w.ok(w.SetDead(w.ctx, u))
	w.ok(w.RemoveUnit(w.ctx, u))
	w.ok(w.RunCleanups(w.ctx))
}

// wanted is where the unit's storage is, "data/0:/var/lib/juju/storage/data/0".
func (w *world) wanted(u model.UnitName) string {
	w.Helper()
	all, err := w.StorageOf(w.ctx, u)
	w.ok(err)
	var out []string
	for _, s := range all {
		out = append(out, string(s.ID)+":"+s.Attachment.Wanted)
	}
	return strings.Join(out, " ")
}

// TestK117ANumberIsUsedAgain: of three units the third goes and comes again, with
// the storage that it had; the highest go first (K-113).
func TestK117ANumberIsUsedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploySidecar(3)
	w.is("units", w.unitsOf("web"), "web/0 web/1 web/2")
	w.takeOn("web/0", "web/1", "web/2")
	w.is("storage of the third", w.wanted("web/2"), "data/8:/var/lib/juju/storage/data/0 many/9:/srv/many/0 many/10:/srv/many/1 one/11:/mnt")
	first, err := w.Unit(w.ctx, "web/2")
	w.ok(err)

	scale, err := w.ChangeScale(w.ctx, "web", -1, state.Orderly)
	w.ok(err)
	w.is("units", fmt.Sprint(scale, " ", w.unitsOf("web")), "2 web/0 web/1 web/2-dying")
	// While it goes, its number isn't free.
	w.ok(w.SetScale(w.ctx, "web", 3, state.Orderly))
	w.is("units", w.unitsOf("web"), "web/0 web/1 web/2-dying")
	w.end("web/2")
	w.is("units", w.unitsOf("web"), "web/0 web/1 web/2")
	again, err := w.Unit(w.ctx, "web/2")
	w.ok(err)
	if again.ID == first.ID || again.Deployed {
		t.Errorf("it is the same unit: %+v", again)
	}
	w.is("storage", w.wanted("web/2"), "data/8:/var/lib/juju/storage/data/0 many/9:/srv/many/0 many/10:/srv/many/1 one/11:/mnt")

	// What has been removed meanwhile is made anew.
	w.takeOn("web/2")
	w.ok(w.SetScale(w.ctx, "web", 2, state.Orderly))
	w.end("web/2")
	w.ok(w.RemoveStorage(w.ctx, "many/9", false, true))
	w.ok(w.StorageGone(w.ctx, "many/9"))
	w.ok(w.SetScale(w.ctx, "web", 3, state.Orderly))
	w.is("storage", w.wanted("web/2"), "data/8:/var/lib/juju/storage/data/0 many/10:/srv/many/0 many/12:/srv/many/1 one/11:/mnt")

	// An application that is deployed anew has none of it.
	_, err = w.ForceApplication(w.ctx, "web", state.Abandon, nil)
	w.ok(err)
	w.ok(w.RunCleanups(w.ctx))
	w.deploySidecar(1)
	w.is("storage", w.wanted("web/0"), "data/13:/var/lib/juju/storage/data/0 many/14:/srv/many/0 many/15:/srv/many/1 one/16:/mnt")
}

// TestAContainerApplicationHasAScale: what is refused, and what is said of it.
func TestAContainerApplicationHasAScale(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(mysql, 1)
	w.deploySidecar(1)
	w.fails(w.SetScale(w.ctx, "mysql", 2, state.Orderly), "scaling applications on a non-container model not supported")
	w.fails(w.SetScale(w.ctx, "web", -1, state.Orderly), "scale must be a positive integer")
	w.fails(w.SetScale(w.ctx, "nosuch", 1, state.Orderly), `application "nosuch" not found`)
	_, err := w.ChangeScale(w.ctx, "web", -2, state.Orderly)
	w.fails(err, "cannot remove more units than currently exist not valid")
	_, err = w.AddUnits(w.ctx, "web", 1, "new")
	w.fails(err, "k8s models only support --num-units")
	w.fails(w.DestroyUnit(w.ctx, "web/0"), "k8s models do not support removing named units.\nInstead specify an application with --num-units.")
	err = w.Deploy(w.ctx, state.DeployArgs{Application: "web2", Charm: w.addCharm(sidecar()), Units: 1, To: []string{"new"}})
	if err == nil || !strings.HasPrefix(err.Error(), "--to cannot be used on k8s models") {
		t.Errorf("to: %v", err)
	}
	names, err := w.AddUnits(w.ctx, "web", 2)
	w.ok(err)
	w.is("added", fmt.Sprint(names, w.unitsOf("web")), "[web/1 web/2]web/0 web/1 web/2")

	// Its units have no machines that anybody sees, or could use.
	s, err := w.Status(w.ctx)
	w.ok(err)
	if len(s.Machines) != 1 || s.Machines[0].ID != "0" {
		t.Errorf("machines: %+v", s.Machines)
	}
	w.fails(w.DestroyMachine(w.ctx, "web-0"), `machine "web-0" not found`)
	w.fails(w.ForceDestroyMachine(w.ctx, "web-0"), `machine "web-0" not found`)
	_, err = w.AddUnits(w.ctx, "mysql", 1, "web-0")
	w.fails(err, `machine "web-0" not found`)

	// What nobody has taken on goes at once, and all that there is of it.
	w.ok(w.SetScale(w.ctx, "web", 0, state.Orderly))
	w.is("units", w.unitsOf("web"), "")
	if _, err := w.Machine(w.ctx, "web-0"); !errors.Is(err, errors.NotFound) {
		t.Errorf("its pod is still there: %v", err)
	}
}

// TestK013ContainersWithoutAResource: no unit of such a charm is made, and the
// application says why; with a better charm they come.
func TestK013ContainersWithoutAResource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := sidecar()
	c.Containers = map[string]model.ContainerSpec{"web": {}}
	w.ok(w.Deploy(w.ctx, state.DeployArgs{Application: "web", Charm: w.addCharm(c), Units: 2}))
	s, err := w.Status(w.ctx)
	w.ok(err)
	status := s.Applications[0].Status
	w.is("status", status.Status+": "+status.Message+w.unitsOf("web"), `error: container "web": empty container resource reference not valid`)
	w.ok(w.SetCharm(w.ctx, "web", w.addCharm(sidecar()), false))
	w.ok(w.RunCleanups(w.ctx))
	w.is("units", w.unitsOf("web"), "web/0 web/1")
}

// TestK112OtherStorageIsRefused, and so is a charm of the other kind.
func TestK112OtherStorageIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploySidecar(1)
	c := sidecar()
	c.Storage = map[string]model.StorageSpec{"data": c.Storage["data"]}
	err := w.SetCharm(w.ctx, "web", w.addCharm(c), false)
	if err == nil || !strings.HasPrefix(err.Error(), "Juju on containers does not support updating storage on a statefulset.") || !strings.HasSuffix(err.Error(), " not supported") {
		t.Errorf("other storage: %v", err)
	}
	c = sidecar()
	c.Containers = nil
	w.fails(w.SetCharm(w.ctx, "web", w.addCharm(c), false), `cannot upgrade application "web" to charm "web": cannot change between machines and containers`)
}

// TestK109AnotherAddressOfAContainerUnit is news to its charm, by config-changed, and
// is in its relations from the commit of that on.
func TestK109AnotherAddressOfAContainerUnit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := sidecar()
	c.Endpoints = charm("web db=requirer:mysql").Endpoints
	w.ok(w.Deploy(w.ctx, state.DeployArgs{Application: "web", Charm: w.addCharm(c), Units: 1}))
	w.deploy(mysql, 1)
	id := w.relate("web", "mysql")
	w.takeOn("web/0")
	w.ok(w.SetMachine(w.ctx, state.MachineDoc{ID: "web-0", Addresses: []string{"10.64.0.2"}}))
	w.enter("web/0", id)
	before := w.snapshot("web/0")
	w.ok(w.SetMachine(w.ctx, state.MachineDoc{ID: "web-0", Addresses: []string{"10.64.0.2"}}))
	w.is("the same address", w.snapshot("web/0").SettingsHash, before.SettingsHash)
	w.ok(w.SetMachine(w.ctx, state.MachineDoc{ID: "web-0", Addresses: []string{"10.64.0.7"}}))
	if now := w.snapshot("web/0"); now.SettingsHash == before.SettingsHash || now.SettingsHash == "" {
		t.Errorf("another address is no news: %q", now.SettingsHash)
	}
	w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "web/0", Run: 1, LeaveScope: model.NoRelation, Addresses: at("10.64.0.7")}))
	told, err := w.Settings(w.ctx, id, "web/0")
	w.ok(err)
	w.is("in the relation", fmt.Sprint(told), "map[egress-subnets:10.64.0.7/32 ingress-address:10.64.0.7 private-address:10.64.0.7]")
}

// TestOneInstanceOfStorageIsMounted: several are the charm's alone, and so are devices.
func TestOneInstanceOfStorageIsMounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := sidecar()
	c.Storage["disk"] = model.StorageSpec{Type: model.Block, CountMin: 1, CountMax: 1}
	for storage, want := range map[string]string{
		"data": "", "one": "", "many": `duplicated storage name "many" for "web" not valid`,
		"disk": `container "web" of "web" cannot mount storage "disk", which is a device: only file systems can be mounted`,
	} {
		c.Containers = map[string]model.ContainerSpec{"web": {Resource: "img", Mounts: []model.Mount{{Storage: storage, Location: "/a"}, {Storage: storage, Location: "/b"}}}}
		err := w.CheckDeploy(w.ctx, state.DeployArgs{Application: "web", Units: 1}, c)
		if got := fmt.Sprint(err); (want != "" || err != nil) && got != want {
			t.Errorf("%s: %s", storage, got)
		}
	}
	w.ok(w.CheckDeploy(w.ctx, state.DeployArgs{Application: "web", Units: 1}, sidecar()))
}

// TestAModelOfContainersTakesNoMachines.
func TestAModelOfContainersTakesNoMachines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m, err := w.controller.AddModelOf(w.ctx, "kube", state.CAAS)
	w.ok(err)
	err = m.CheckDeploy(w.ctx, state.DeployArgs{Application: "mysql", Units: 1}, charm(mysql))
	w.fails(err, `charm "mysql" is for machines, which model "kube" doesn't have: it has no containers, and doesn't assume k8s-api`)
	w.ok(m.CheckDeploy(w.ctx, state.DeployArgs{Application: "web", Units: 1}, sidecar()))
	without := charm("a")
	without.Assumes = []model.Assumption{{Feature: model.FeatureK8sAPI}}
	w.ok(m.CheckDeploy(w.ctx, state.DeployArgs{Application: "a", Units: 1}, without))
	infos, err := w.controller.Models(w.ctx)
	w.ok(err)
	if i := slices.IndexFunc(infos, func(i state.ModelInfo) bool { return i.Name == "kube" }); infos[i].Type != state.CAAS {
		t.Errorf("%+v", infos[i])
	}
}

// TestNumbersStayDense: whatever order scale changes in, and units are taken on and
// gone in, once all is done there are just the units 0 to the scale.
func TestNumbersStayDense(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := worldIn(rt, t.TempDir())
		w.deploySidecar(rapid.IntRange(0, 3).Draw(rt, "units"))
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			units, err := w.Units(w.ctx)
			w.ok(err)
			switch rapid.SampledFrom([]string{"scale", "take on", "end"}).Draw(rt, "step") {
			case "scale":
				w.ok(w.SetScale(w.ctx, "web", rapid.IntRange(0, 4).Draw(rt, "scale"), state.Orderly))
			case "take on":
				if len(units) > 0 {
					w.takeOn(rapid.SampledFrom(units).Draw(rt, "unit").Name)
				}
			case "end":
				for _, one := range units {
					if one.Life == model.Dying {
						w.end(one.Name)
						break
					}
				}
			}
		}
		for {
			units, err := w.Units(w.ctx)
			w.ok(err)
			i := slices.IndexFunc(units, func(u state.UnitDoc) bool { return u.Life == model.Dying })
			if i < 0 {
				break
			}
			w.end(units[i].Name)
		}
		app, err := w.Application(w.ctx, "web")
		w.ok(err)
		var want []string
		for n := range app.Scale {
			want = append(want, fmt.Sprintf("web/%d", n))
		}
		if got := w.unitsOf("web"); got != strings.Join(want, " ") || app.Units != app.Scale {
			rt.Fatalf("scale %d: %s, %d counted", app.Scale, got, app.Units)
		}
		w.check()
	})
}

package state_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// stored is a charm with storage: data, one to three file systems of a GiB at
// least, and disk, block storage that it can do without.
func stored() model.Charm {
	return model.Charm{Name: "db", Storage: map[string]model.StorageSpec{
		"data": {Type: "filesystem", CountMin: 1, CountMax: 3, MinimumSize: "1G", Location: "/srv/data"},
		"disk": {Type: "block", CountMin: 0, CountMax: 1},
	}}
}

func (w *world) deployStored(units int, directives string) {
	w.Helper()
	w.ok(w.deployWith(stored(), units, directives))
}

// deployWith deploys a charm with directives such as "data=tmpfs disk=2".
func (w *world) deployWith(c model.Charm, units int, directives string) error {
	w.Helper()
	d := map[string]model.StorageDirective{}
	for _, word := range strings.Fields(directives) {
		name, text, _ := strings.Cut(word, "=")
		var err error
		d[name], err = model.ParseStorageDirective(text)
		w.ok(err)
	}
	return w.Deploy(w.ctx, state.DeployArgs{Application: c.Name, Charm: w.addCharm(c), Units: units, Storage: d})
}

// storage is all storage in a line: "data/0=db/0:pending".
func (w *world) storage() string {
	w.Helper()
	all, err := w.Storage(w.ctx)
	w.ok(err)
	var words []string
	for _, v := range all {
		words = append(words, fmt.Sprintf("%s=%s:%s", v.ID, v.Unit, v.Status().Status))
	}
	return strings.Join(words, " ")
}

// provide is what the agent says of storage that is there.
func (w *world) provide(unit model.UnitName, ids ...model.StorageID) {
	w.Helper()
	for _, id := range ids {
		w.ok(w.SetProvided(w.ctx, state.Provided{Storage: id, Unit: unit, Location: "/here/" + string(id)}))
	}
}

func TestUnitsBeginWithTheirStorage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deployStored(2, "disk=loop")
	w.is("storage", w.storage(), "data/0=db/0:pending data/2=db/1:pending disk/1=db/0:pending disk/3=db/1:pending")
	_, err := w.AddUnits(w.ctx, "db", 1)
	w.ok(err)
	w.is("storage of a later unit", w.storage(), "data/0=db/0:pending data/2=db/1:pending data/4=db/2:pending disk/1=db/0:pending disk/3=db/1:pending disk/5=db/2:pending")
	s, err := w.Snapshot(w.ctx, "db/0")
	w.ok(err)
	if len(s.Storage) != 2 || !s.Storage[0].Attachment.Initial || s.Storage[0].Attachment.Ready || s.Storage[0].Size != 1024 ||
		s.Storage[0].Attachment.Wanted != "/srv/data/data/0" || s.Storage[1].Kind != "block" || s.Storage[1].Provider != "loop" {
		t.Errorf("got %+v", s.Storage)
	}
}

func TestMoreUnitsWithStorageThanOneTransactionTakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := model.Charm{Name: "many", Storage: map[string]model.StorageSpec{"data": {Type: "filesystem", CountMin: 30, CountMax: -1}}}
	w.ok(w.deployWith(c, 3, ""))
	_, err := w.AddUnits(w.ctx, "many", 2)
	w.ok(err)
	all, err := w.Storage(w.ctx)
	w.ok(err)
	w.is("the number of instances", fmt.Sprint(len(all)), "150")
	w.remove30("many/0")
}

// remove30 takes away a unit that no agent has seen, and its storage with it.
func (w *world) remove30(unit model.UnitName) {
	w.Helper()
	w.ok(w.DestroyUnit(w.ctx, unit))
	w.is("the unit", w.unitLife(unit), "gone")
	all, err := w.Storage(w.ctx)
	w.ok(err)
	left := 0
	for _, v := range all {
		if v.Life == model.Alive {
			left++
		}
	}
	w.is("the storage that is left", fmt.Sprint(left), "120")
}

func TestStorageThatNoUnitCouldHaveIsRefused(t *testing.T) {
	t.Parallel()
	shared := model.Charm{Name: "db", Storage: map[string]model.StorageSpec{"data": {Type: "filesystem", CountMin: 1, CountMax: 1, Shared: true}}}
	greedy := model.Charm{Name: "db", Storage: map[string]model.StorageSpec{"data": {Type: "filesystem", CountMin: 33, CountMax: -1}}}
	for _, c := range []struct {
		name       string
		charm      model.Charm
		directives string
		want       string
	}{
		{"a name that the charm hasn't", stored(), "logs=1", `charm "db" has no store called "logs"`},
		{"too small", stored(), "data=512M", `charm "db" store "data": minimum storage size is 1GiB, 512MiB specified`},
		{"too many", stored(), "data=4", `charm "db" store "data": at most 3 instances supported, 4 specified`},
		{"a provider of the other kind", stored(), "disk=rootfs", `charm "db" store "disk": storage provider "rootfs" has no block storage`},
		{"a pool that isn't there", stored(), "data=fast", `pool "fast" not found`},
		{"shared storage", shared, "", `charm "db" store "data": shared storage is not supported`},
		{"too many in all", greedy, "", "a unit can have at most 32 instances of storage, 33 specified"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.fails(w.deployWith(c.charm, 1, c.directives), c.want)
			w.is("the application", w.appLife("db"), "gone")
		})
	}
}

func TestStorageIsAddedToAUnit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deployStored(1, "data=tmpfs,2G")
	ids, err := w.AddStorage(w.ctx, "db/0", "data", model.StorageDirective{})
	w.ok(err)
	w.is("the id", fmt.Sprint(ids), "[data/1]")
	all, err := w.StorageOf(w.ctx, "db/0")
	w.ok(err)
	if v := all[1]; v.Pool != "tmpfs" || v.Size != 2048 || v.Attachment.Initial {
		t.Errorf("it isn't as deploy was told: %+v", v)
	}
	_, err = w.AddStorage(w.ctx, "db/0", "data", model.StorageDirective{Count: 2})
	w.fails(err, `charm "db" store "data": at most 3 instances supported, 4 specified`)
	_, err = w.AddStorage(w.ctx, "db/0", "logs", model.StorageDirective{})
	w.fails(err, `charm "db" has no store called "logs"`)
	_, err = w.AddStorage(w.ctx, "db/9", "data", model.StorageDirective{})
	w.fails(err, `unit "db/9" not found`)
	w.ok(w.SetDeployed(w.ctx, "db/0"))
	w.ok(w.DestroyUnit(w.ctx, "db/0"))
	_, err = w.AddStorage(w.ctx, "db/0", "data", model.StorageDirective{})
	w.fails(err, `unit "db/0" is being removed`)
}

func TestStorageIsDetachedAndAttachedElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deployStored(2, "")
	w.enter("db/0")
	w.provide("db/0", "data/0")
	w.is("storage", w.storage(), "data/0=db/0:attached data/1=db/1:pending")
	w.fails(w.AttachStorage(w.ctx, "db/1", "data/0"), "storage data/0 is attached to db/0: detach it first")
	w.fails(w.AttachStorage(w.ctx, "db/0", "data/0"), "storage data/0 is attached to db/0 already")
	w.fails(w.RemoveStorage(w.ctx, "data/0", false, false), "storage data/0 is attached to db/0: detach it first, or use --force")
	w.ok(w.DetachStorage(w.ctx, "data/0"))
	w.ok(w.DetachStorage(w.ctx, "data/0"))
	w.is("storage while its unit is told", w.storage(), "data/0=db/0:detaching data/1=db/1:pending")
	w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "db/0", Run: 1, LeaveScope: model.NoRelation, Detach: "data/0"}))
	w.is("storage", w.storage(), "data/0=:detached data/1=db/1:pending")
	w.fails(w.DetachStorage(w.ctx, "data/0"), "storage data/0 is not attached")
	w.ok(w.AttachStorage(w.ctx, "db/1", "data/0"))
	w.is("storage", w.storage(), "data/0=db/1:pending data/1=db/1:pending")
	w.fails(w.DetachStorage(w.ctx, "data/7"), `storage "data/7" not found`)
}

func TestStorageFitsTheCharmThatItIsAttachedTo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deployStored(2, "data=3")
	w.enter("db/0")
	w.provide("db/0", "data/0")
	w.ok(w.EndAttachment(w.ctx, "db/0", "data/0"))
	w.fails(w.AttachStorage(w.ctx, "db/1", "data/0"), `charm "db" store "data": at most 3 instances supported, 4 specified`)
	w.deploy(wordpress, 1)
	w.fails(w.AttachStorage(w.ctx, "wordpress/0", "data/0"), `charm "wordpress" has no store called "data"`)
	w.ok(w.deployWith(model.Charm{Name: "raw", Storage: map[string]model.StorageSpec{"data": {Type: "block", CountMax: 1}}}, 1, ""))
	w.fails(w.AttachStorage(w.ctx, "raw/0", "data/0"), `storage data/0 is filesystem storage, charm "raw" wants block storage`)
}

func TestWhatOutlivesItsUnit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, pool, want string }{
		{"persistent storage", "rootfs", "data/0=:detached"},
		{"storage in memory doesn't", "tmpfs", "data/0=:destroying"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.deployStored(1, "data="+c.pool)
			w.enter("db/0")
			w.provide("db/0", "data/0")
			w.ok(w.DestroyUnit(w.ctx, "db/0"))
			w.is("storage of a unit that goes", w.storage(), "data/0=db/0:detaching")
			w.fails(w.SetDead(w.ctx, "db/0"), `unit "db/0" has storage attached`)
			w.ok(w.EndAttachment(w.ctx, "db/0", "data/0"))
			w.ok(w.SetDead(w.ctx, "db/0"))
			w.ok(w.RemoveUnit(w.ctx, "db/0"))
			w.is("storage", w.storage(), c.want)
		})
	}
	t.Run("what was never there doesn't", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deployStored(1, "")
		w.ok(w.DestroyUnit(w.ctx, "db/0"))
		w.is("storage", w.storage(), "data/0=:destroying")
		w.ok(w.StorageGone(w.ctx, "data/0"))
		w.is("storage", w.storage(), "")
	})
	t.Run("what is to be destroyed doesn't", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deployStored(1, "")
		w.enter("db/0")
		w.provide("db/0", "data/0")
		w.ok(w.ForceUnitWith(w.ctx, "db/0", state.Abandon, state.StorageDestroyed))
		w.is("storage", w.storage(), "data/0=:destroying")
		w.ok(w.StorageGone(w.ctx, "data/9"))
	})
}

func TestNumbersOfStorageAreNotUsedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deployStored(1, "")
	w.ok(w.DestroyUnit(w.ctx, "db/0"))
	w.ok(w.StorageGone(w.ctx, "data/0"))
	_, err := w.AddUnits(w.ctx, "db", 1)
	w.ok(err)
	w.is("storage", w.storage(), "data/1=db/1:pending")
}

func TestStorageIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deployStored(1, "data=2")
	w.enter("db/0")
	w.provide("db/0", "data/0", "data/1")
	w.ok(w.RemoveStorage(w.ctx, "data/0", false, true))
	w.is("storage while its unit is told", w.storage(), "data/0=db/0:detaching data/1=db/0:attached")
	w.fails(w.StorageGone(w.ctx, "data/0"), "storage data/0 is not to be removed")
	w.ok(w.EndAttachment(w.ctx, "db/0", "data/0"))
	w.fails(w.AttachStorage(w.ctx, "db/0", "data/0"), "storage data/0 is being removed")
	w.ok(w.StorageGone(w.ctx, "data/0"))
	w.is("storage", w.storage(), "data/1=db/0:attached")
}

func TestAHookAddsStorageByItsCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deployStored(1, "")
	w.enter("db/0")
	add := func(run int64, n int) error {
		return w.CommitHook(w.ctx, state.HookCommit{Unit: "db/0", Run: run, LeaveScope: model.NoRelation, Changes: model.Changes{Storage: map[string]int{"data": n}}})
	}
	w.ok(add(1, 1))
	w.ok(add(1, 1)) // stamped: it is done
	w.is("storage", w.storage(), "data/0=db/0:pending data/1=db/0:pending")
	w.fails(add(2, 2), `charm "db" store "data": at most 3 instances supported, 4 specified`)
	w.ok(w.DestroyUnit(w.ctx, "db/0"))
	w.ok(add(3, 1))
	w.is("storage of a unit that goes", w.storage(), "data/0=db/0:detaching data/1=db/0:detaching")
}

func TestProblemsOfStorageAreTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deployStored(1, "")
	w.ok(w.SetProvided(w.ctx, state.Provided{Storage: "data/0", Unit: "db/0", Problem: "no room"}))
	w.is("storage", w.storage(), "data/0=db/0:error")
	w.provide("db/0", "data/0")
	w.is("storage", w.storage(), "data/0=db/0:attached")
	w.ok(w.SetProvided(w.ctx, state.Provided{Storage: "data/0", Unit: "db/7", Problem: "somebody else's"}))
	w.is("storage", w.storage(), "data/0=db/0:attached")
	// As after a reboot in which it was lost.
	w.ok(w.SetProvided(w.ctx, state.Provided{Storage: "data/0", Unit: "db/0", Problem: "no room"}))
	w.is("storage", w.storage(), "data/0=db/0:error")
	all, err := w.StorageOf(w.ctx, "db/0")
	w.ok(err)
	w.is("its location", all[0].Attachment.Location, "/here/data/0")
}

func TestUpgradesBringStorageAndTakeNoneAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deployStored(1, "")
	w.enter("db/0")
	without := stored()
	delete(without.Storage, "data")
	without.Version = "2"
	w.fails(w.CheckCharm(w.ctx, "db", without), `cannot upgrade application "db" to charm "db": storage data/0 of db/0 is in use`)
	with := stored()
	with.Storage["logs"] = model.StorageSpec{Type: "filesystem", CountMin: 2, CountMax: 2}
	url, err := w.AddCharm(w.ctx, with, hashOf("db 2"), strings.NewReader("db 2"))
	w.ok(err)
	w.ok(w.SetCharm(w.ctx, "db", url, false))
	w.ok(w.RunCleanups(w.ctx))
	w.ok(w.RunCleanups(w.ctx))
	w.is("storage", w.storage(), "data/0=db/0:pending logs/1=db/0:pending logs/2=db/0:pending")
	s, err := w.Snapshot(w.ctx, "db/0")
	w.ok(err)
	if s.Storage[1].Attachment.Initial {
		t.Error("install would wait for it")
	}
}

func TestAModelGoesWhenItsStorageHas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deployStored(1, "")
	w.enter("db/0")
	w.provide("db/0", "data/0")
	m := w.Model
	w.ok(m.DestroyWith(w.ctx, true, state.StorageReleased))
	gone, err := m.RemoveIfEmpty(w.ctx)
	if err != nil || gone {
		t.Fatalf("gone: %v, %v", gone, err)
	}
	all, err := m.Storage(w.ctx)
	if err != nil || len(all) != 1 || !all[0].Released || all[0].Status().Status != "destroying" {
		t.Fatalf("%+v, %v", all, err)
	}
	w.ok(m.StorageGone(w.ctx, "data/0"))
	if gone, err := m.RemoveIfEmpty(w.ctx); err != nil || !gone {
		t.Fatalf("gone: %v, %v", gone, err)
	}
}

func TestPools(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ok(w.AddPool(w.ctx, "quick", "tmpfs"))
	w.fails(w.AddPool(w.ctx, "quick", "tmpfs"), `cannot create pool "quick": storage pool "quick" already exists`)
	w.fails(w.AddPool(w.ctx, "loop", "tmpfs"), `cannot create pool "loop": storage pool "loop" already exists`)
	w.fails(w.AddPool(w.ctx, "1st", "tmpfs"), `pool name "1st" is not valid`)
	w.fails(w.AddPool(w.ctx, "far", "ebs"), `storage provider "ebs" not found`)
	pools, err := w.Pools(w.ctx)
	w.ok(err)
	w.is("pools", fmt.Sprint(pools), "[{loop loop} {quick tmpfs} {rootfs rootfs} {tmpfs tmpfs}]")
	w.deployStored(1, "data=quick")
	all, err := w.Storage(w.ctx)
	w.ok(err)
	if all[0].Pool != "quick" || all[0].Provider != "tmpfs" {
		t.Errorf("got %+v", all[0])
	}
}

func TestWatchersHearOfStorage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deployStored(1, "")
	w.ok(w.SetDeployed(w.ctx, "db/0"))
	changes, err := w.Watch(w.ctx, 0)
	w.ok(err)
	w.ok(w.DetachStorage(w.ctx, "data/0"))
	c := <-changes
	if !c.Storage || !c.Units["db/0"] || c.Status {
		t.Errorf("got %+v", c)
	}
}

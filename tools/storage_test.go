package tools

import (
	"strings"
	"testing"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

func storageHook() hooks.Info {
	return hooks.Info{Kind: hooks.StorageAttached, Storage: "data/0", StorageLocation: "/srv/data", StorageKind: model.Filesystem}
}

func TestStorageSessions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		hook  hooks.Info
		lines []string
		want  string
	}{
		{"in a storage hook it is the hook's storage", storageHook(),
			[]string{"storage-get", "storage-get location", "storage-get --format=json kind", "storage-get -s data/2 location"},
			"kind: filesystem\nlocation: /srv/data\n/srv/data\n\"filesystem\"\n/srv/more\n"},
		{"what isn't there yet is neither listed nor found", plainHook(),
			[]string{"storage-list", "storage-get -s data/10 location"},
			"data/0\ndata/2\nlogs/1\nERROR invalid value \"data/10\" for option -s: storage not found\nexit 2\n"},
		{"storage is listed by name", plainHook(),
			[]string{"storage-list --format=json data", "storage-list none", "storage-list none --format=json"},
			"[\"data/0\",\"data/2\"]\n[]\n"},
		{"storage is added up to what the charm takes, over several calls", plainHook(),
			[]string{"storage-add logs", "storage-add logs=1 logs=1", "storage-add logs=2", "storage-add logs=1", "storage-add logs"},
			"ERROR storage \"logs\" specified more than once\nexit 2\n" +
				"ERROR charm \"app\" store \"logs\": at most 3 instances supported, 4 specified\nexit 1\n" +
				"ERROR charm \"app\" store \"logs\": at most 3 instances supported, 4 specified\nexit 1\n"},
		{"storage that the charm hasn't", plainHook(), []string{"storage-add none"}, "ERROR charm \"app\" has no store called \"none\"\nexit 1\n"},
		{"bad counts", plainHook(), []string{"storage-add data=0", "storage-add data=-1"},
			"ERROR cannot parse constraints for storage \"data\": cannot parse count: count must be greater than zero, got \"0\"\nexit 2\n" +
				"ERROR cannot parse constraints for storage \"data\": cannot parse count: count must be greater than zero, got \"-1\"\nexit 2\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			view := newMemory()
			view.storage = append(view.storage,
				hookcontext.Storage{ID: "data/10", Kind: model.Filesystem},
				hookcontext.Storage{ID: "logs/1", Kind: model.Filesystem, Location: "/srv/logs"},
				hookcontext.Storage{ID: "data/2", Kind: model.Filesystem, Location: "/srv/more"})
			p := paramsOf(view, c.hook)
			p.Charm.Storage["logs"] = model.StorageSpec{Type: model.Filesystem, CountMin: 1, CountMax: 3}
			mustBe(t, c.name, session(hookcontext.New(p), c.lines...), c.want)
		})
	}
}

// Ops 2.0 reads the hook's storage out of that line. Source: docs/spec/ops-needs.md.
func TestHelpOfStorageGetNamesTheHooksStorage(t *testing.T) {
	t.Parallel()
	if help := session(hookOf(newMemory(), storageHook()), "storage-get --help"); !strings.Contains(help, "\n-s  (= data/0)\n") {
		t.Errorf("got %s", help)
	}
	if help := session(hookOf(newMemory(), plainHook()), "storage-get --help"); !strings.Contains(help, "\n-s  (= )\n") {
		t.Errorf("got %s", help)
	}
}

func TestStorageIsAddedByTheChanges(t *testing.T) {
	t.Parallel()
	c := hookOf(newMemory(), plainHook())
	mustBe(t, "output", session(c, "storage-add data", "storage-add data=1"), "")
	if got := c.Changes().Storage; len(got) != 1 || got["data"] != 2 {
		t.Errorf("got %v", got)
	}
}

package charmhub_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmhub"
)

func TestWhatWasHadOnceIsThereWithoutTheHub(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.release(t, "ledger_r41.charm")
	w.release(t, "ledger_r42_edge.charm")
	if err := os.WriteFile(filepath.Join(w.dir, "ledger.seed_r4.txt"), []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	first, err := w.Install(t.Context(), want(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	path, err := w.Fetch(t.Context(), first)
	if err != nil || len(first.Resources) != 1 {
		t.Fatal(first.Resources, err)
	}
	seed, err := w.FetchResource(t.Context(), "ledger", first.Resources[0])
	if err != nil {
		t.Fatal(err)
	}
	revision := want(t, "")
	revision.Revision = 41
	if _, err := w.Install(t.Context(), revision); err != nil {
		t.Fatal(err)
	}
	asked := len(w.hub.Asked())
	later := w.client(t, w.Cache.Dir)
	if again, err := later.Install(t.Context(), revision); err != nil || again.Revision != 41 || again.Old {
		t.Errorf("by revision: %v, %v", again, err)
	}
	if again, err := later.Fetch(t.Context(), first); err != nil || again != path {
		t.Errorf("again: %s, %v", again, err)
	}
	if n := len(w.hub.Asked()); n != asked {
		t.Errorf("the hub was asked %d times for what is here", n-asked)
	}

	w.hub.Close()
	again, err := later.Install(t.Context(), want(t, ""))
	if err != nil || again.Revision != 41 || !again.Old || strings.Join(*w.notes, "; ") != `WARNING Charmhub can't be reached; using revision 41 of "ledger", seen 2026-03-01` {
		t.Errorf("by channel: %v, %v, told %q", again, err, *w.notes)
	}
	if b, err := later.FetchResource(t.Context(), "ledger", again.Resources[0]); err != nil || b != seed {
		t.Errorf("its resource: %s, %v", b, err)
	}
	if _, err := later.Install(t.Context(), want(t, "edge")); !errors.Is(err, charmhub.ErrUnreachable) || !strings.HasPrefix(err.Error(), "cannot reach Charmhub at "+w.hub.URL+": ") {
		t.Errorf("what it wasn't asked before: %v", err)
	}
	later.Offline, *w.notes = true, nil
	if again, err := later.Install(t.Context(), want(t, "")); err != nil || again.Revision != 41 || len(*w.notes) != 0 {
		t.Errorf("offline: %v, %v, told %q", again, err, *w.notes)
	}
}

func TestWhatIsDamagedInTheCacheIsFetchedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.release(t, "ledger_r41.charm")
	r, err := w.Install(t.Context(), want(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	path, err := w.Fetch(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append([]byte("x"), good[1:]...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	path, err = w.Fetch(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	wrong := r
	wrong.Download.SHA384 = strings.Repeat("0", 96)
	if _, err := w.Fetch(t.Context(), wrong); err == nil || !w.Cache.Has("sha256-"+r.Download.SHA256) {
		t.Errorf("an answer with a wrong hash: %v; what is there has to stay", err)
	}
	if again, err := os.ReadFile(path); err != nil || string(again) != string(good) {
		t.Errorf("it is still damaged: %v", err)
	}
}

func TestWhatAProcessUsesStaysInTheCache(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.release(t, "ledger_r41.charm")
	r, err := w.Install(t.Context(), want(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Fetch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	other := &charmhub.Cache{Dir: w.Cache.Dir}
	all, err := other.List()
	if err != nil || len(all) != 1 || !all[0].Held || all[0].Name != "ledger" || all[0].Revision != 41 || all[0].Kind != charmhub.TypeCharm || all[0].SHA256 != r.Download.SHA256 {
		t.Fatalf("it has %+v, %v", all, err)
	}
	later := time.Now().Add(time.Hour)
	if done, err := other.Remove(all[0].Key, later); done || err != nil {
		t.Errorf("it was removed while it was used: %v, %v", done, err)
	}
	w.Cache.LetGo()
	if done, err := other.Remove(all[0].Key, all[0].Used); done || err != nil {
		t.Errorf("it was removed though it was used since: %v, %v", done, err)
	}
	if done, err := other.Remove(all[0].Key, later); !done || err != nil {
		t.Errorf("it wasn't removed: %v, %v", done, err)
	}
	if err := other.Sweep(later); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"files", "answers"} {
		if left, err := os.ReadDir(filepath.Join(w.Cache.Dir, folder)); err != nil || len(left) != 0 {
			t.Errorf("%s has %v, %v", folder, left, err)
		}
	}
}

// TestANoteOfAFileThatIsGoneIsSwept, in time: one that is new is written before its file.
func TestANoteOfAFileThatIsGoneIsSwept(t *testing.T) {
	t.Parallel()
	c := &charmhub.Cache{Dir: t.TempDir()}
	note := filepath.Join(c.Dir, "files", "sha256-0.json")
	if err := os.Mkdir(filepath.Dir(note), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(note, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		after time.Duration
		there bool
	}{{time.Hour, true}, {48 * time.Hour, false}} {
		if err := c.Sweep(time.Now().Add(tt.after)); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(note); (err == nil) != tt.there {
			t.Errorf("after %v it is there: %v", tt.after, err)
		}
	}
}

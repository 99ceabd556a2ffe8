package state_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

func TestAddCharmNumbersRevisionsByNameAndModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other, err := w.controller.AddModel(w.ctx, "art")
	w.ok(err)
	for _, want := range []string{"local:mysql-0", "local:mysql-1"} {
		if url := w.addCharm(charm(mysql)); url != want {
			t.Errorf("got %s, want %s", url, want)
		}
	}
	if url := w.addCharm(charm(wordpress)); url != "local:wordpress-0" {
		t.Errorf("got %s", url)
	}
	url, err := other.AddCharm(w.ctx, charm(mysql), hashOf("mysql"), strings.NewReader("mysql"))
	w.ok(err)
	if url != "local:mysql-0" {
		t.Errorf("in another model: got %s", url)
	}
}

func TestCharmContent(t *testing.T) {
	t.Parallel()
	chunk := strings.Repeat("x", 512<<10)
	for _, tt := range []struct{ name, content string }{
		{"an empty archive", ""},
		{"an archive of one byte", "x"},
		{"an archive of exactly one chunk", chunk},
		{"an archive of exactly two chunks", chunk + chunk},
		{"an archive of a chunk and a byte", chunk + "y"},
		{"an archive of more chunks than one page has", strings.Repeat(chunk, 9) + "end"},
	} {
		t.Run(tt.name+" comes back whole", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			url, err := w.AddCharm(w.ctx, charm(mysql), hashOf(tt.content), iotestReader{strings.NewReader(tt.content)})
			w.ok(err)
			var out bytes.Buffer
			w.ok(w.CharmContent(w.ctx, url, &out))
			if out.String() != tt.content {
				t.Errorf("got %d bytes, want %d", out.Len(), len(tt.content))
			}
			doc, err := w.Charm(w.ctx, url)
			w.ok(err)
			if doc.Size != int64(len(tt.content)) || doc.SHA256 != hashOf(tt.content) || doc.Charm.Name != "mysql" {
				t.Errorf("document %+v", doc)
			}
		})
	}
}

// iotestReader hands out a few bytes at a time, as a network does.
type iotestReader struct{ r io.Reader }

func (r iotestReader) Read(p []byte) (int, error) { return r.r.Read(p[:min(len(p), 100_003)]) }

func TestCharmContentOfOneHashIsStoredOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	content := strings.Repeat("x", 1<<20)
	for range 3 {
		_, err := w.AddCharm(w.ctx, charm(mysql), hashOf(content), strings.NewReader(content))
		w.ok(err)
	}
	if n := len(w.keys("blob/")); n != 2 {
		t.Errorf("%d chunks are stored, want 2", n)
	}
}

func TestCharmWithAnotherHashIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.AddCharm(w.ctx, charm(mysql), hashOf("good"), strings.NewReader("bad"))
	if !errors.Is(err, errors.NotValid) {
		t.Fatalf("got %v", err)
	}
	if keys := w.keys("m/" + w.UUID() + "/charm/"); len(keys) > 0 {
		t.Errorf("a document was written: %v", keys)
	}
	// Neither does what was refused stand in the way of the right content.
	url, err := w.AddCharm(w.ctx, charm(mysql), hashOf("good"), strings.NewReader("good"))
	w.ok(err)
	var out bytes.Buffer
	w.ok(w.CharmContent(w.ctx, url, &out))
	if out.String() != "good" {
		t.Errorf("got %q", out.String())
	}
}

func TestWhatAnUploadThatWasCutOffHasLeftIsNotTrusted(t *testing.T) {
	t.Parallel()
	const size = 512 << 10
	right := strings.Repeat("r", size) + "end"
	for _, tt := range []struct {
		name string
		left []string // the chunks under the right content's hash
	}{
		{"its first chunk is another", []string{strings.Repeat("w", size)}},
		{"its last chunk is another", []string{right[:size], "eng"}},
		{"its chunk is shorter", []string{right[:7]}},
		{"it is longer", []string{right[:size], "end", "more", "and more"}},
		{"all is as it should be but for an end", []string{right[:size]}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			_, err := w.store.Update(w.ctx, func(tx store.Tx) error {
				for i, part := range tt.left {
					if err := tx.Put(fmt.Sprintf("blob/%s/%06d", hashOf(right), i), []byte(part)); err != nil {
						return err
					}
				}
				return nil
			})
			w.ok(err)
			url, err := w.AddCharm(w.ctx, charm(mysql), hashOf(right), strings.NewReader(right))
			w.ok(err)
			var out bytes.Buffer
			w.ok(w.CharmContent(w.ctx, url, &out))
			if out.String() != right {
				t.Errorf("got %d bytes, want %d", out.Len(), len(right))
			}
		})
	}
}

func TestAWrongArchiveDoesNoHarmToTheRightOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	right := strings.Repeat("r", 600<<10)
	url, err := w.AddCharm(w.ctx, charm(mysql), hashOf(right), strings.NewReader(right))
	w.ok(err)
	for _, wrong := range []string{"w", "w" + right[1:], right[:len(right)-1], right + strings.Repeat("r", 600<<10), ""} {
		if _, err := w.AddCharm(w.ctx, charm(mysql), hashOf(right), strings.NewReader(wrong)); !errors.Is(err, errors.NotValid) {
			t.Errorf("%d bytes: got %v", len(wrong), err)
		}
		w.ok(w.CharmContent(w.ctx, url, io.Discard))
	}
}

func TestCharmContentThatWasDamagedIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := w.addCharm(charm(mysql))
	_, err := w.store.Update(w.ctx, func(tx store.Tx) error {
		return tx.Put(w.keys("blob/")[0], []byte("mysqI"))
	})
	w.ok(err)
	if err := w.CharmContent(w.ctx, url, io.Discard); !errors.Is(err, errors.NotValid) {
		t.Errorf("got %v", err)
	}
}

func TestCharmThatIsNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.Charm(w.ctx, "local:mysql-0")
	w.fails(err, `charm "local:mysql-0" not found`)
	if !errors.Is(err, errors.NotFound) {
		t.Error("error is not NotFound")
	}
	if err := w.CharmContent(w.ctx, "local:mysql-0", io.Discard); !errors.Is(err, errors.NotFound) {
		t.Errorf("content: %v", err)
	}
}

// TestRemoveCharm: a charm that something is made of, or could be again, stays, and so
// does one that somebody is about to deploy.
func TestRemoveCharm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	remove := func(url string, want bool) {
		t.Helper()
		got, err := w.RemoveCharm(w.ctx, url)
		if w.ok(err); got != want {
			t.Errorf("%s was removed: %v", url, got)
		}
	}
	now := w.addCharm(charm("app"))
	remove(now, false)
	w.ok(w.Deploy(w.ctx, state.DeployArgs{Application: "app", Charm: now, Units: 1}))
	w.ok(w.SetDeployed(w.ctx, "app/0"))
	w.ok(w.SetUnitCharm(w.ctx, "app/0", now))
	var next string
	for range 21 { // so many are remembered, and one more
		next = w.addCharm(charm("app"))
		w.ok(w.SetCharm(w.ctx, "app", next, false))
	}
	remove(now, false) // the unit has it
	w.ok(w.SetUnitCharm(w.ctx, "app/0", next))
	remove(now, true)
	remove(now, false)
	remove("local:app-1", false) // for a rollback
	if _, err := w.Charm(w.ctx, now); !errors.Is(err, errors.NotFound) {
		t.Errorf("got %v", err)
	}
	w.ok(w.SweepCharms(w.ctx))
	left := w.addCharm(charm("app"))
	remove(left, false)
	w.clock.advance(time.Hour)
	remove(left, true)
	if !strings.Contains(w.stored("app"), "app") {
		t.Error("the content that the others have is gone")
	}
}

// TestACharmKeepsTheRevisionThatItHadElsewhere, unless the model has a charm with it, or
// once had; what comes after gets a higher one.
func TestACharmKeepsTheRevisionThatItHadElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, want := range []struct {
		revision int
		url      string
	}{
		{3, "local:mysql-3"}, {1, "local:mysql-1"}, {3, "local:mysql-4"}, {-1, "local:mysql-5"}, {0, "local:mysql-0"}, {-1, "local:mysql-6"},
		{-2, ""}, {3, "local:mysql-7"}, {6, "local:mysql-8"}, {0, "local:mysql-9"}, {2, "local:mysql-2"}, {2, "local:mysql-10"}, {-1, "local:mysql-11"},
	} {
		if want.revision == -2 { // all of them go
			w.clock.advance(time.Hour)
			all, err := w.Charms(w.ctx)
			w.ok(err)
			for _, c := range all {
				if removed, err := w.RemoveCharm(w.ctx, c.URL); err != nil || !removed {
					t.Fatalf("%s isn't removed: %v", c.URL, err)
				}
			}
			continue
		}
		url, err := w.AddCharmAs(w.ctx, "", want.revision, charm(mysql), hashOf("mysql"), strings.NewReader("mysql"))
		if w.ok(err); url != want.url {
			t.Errorf("the charm %d that was at %d is %s, want %s", i, want.revision, url, want.url)
		}
	}
}

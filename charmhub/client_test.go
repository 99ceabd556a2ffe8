package charmhub_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/charmhub"
	"github.com/unitd/unitd/charmhub/hubtest"
)

// quickClock lets what waits go on at once, and remembers how long it would have
// waited; what is to happen later happens when the test says so.
type quickClock struct {
	clock.Clock
	mu     sync.Mutex
	waited []time.Duration
	later  []func()
}

func (c *quickClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waited = append(c.waited, d)
	ch := make(chan time.Time, 1)
	ch <- time.Time{}
	return ch
}

func (c *quickClock) AfterFunc(_ time.Duration, f func()) clock.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.later = append(c.later, f)
	return c.NewTimer(time.Hour)
}

func (c *quickClock) Now() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// pass has what is to happen later happen.
func (c *quickClock) pass() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.later {
		f()
	}
}

// world is a hub, with a client.
type world struct {
	*charmhub.Client
	dir   string
	hub   *hubtest.Server
	clock *quickClock
	notes *[]string
}

func newWorld(t *testing.T) world {
	t.Helper()
	w := world{dir: t.TempDir(), clock: &quickClock{Clock: clock.WallClock}, notes: &[]string{}}
	w.hub = hubtest.Start(w.dir)
	t.Cleanup(w.hub.Close)
	w.Client = w.client(t, t.TempDir())
	return w
}

// client is another one, with that cache.
func (w world) client(t *testing.T, cache string) *charmhub.Client {
	c := charmhub.New(w.hub.URL)
	c.Clock, c.Architecture, c.Cache = w.clock, "amd64", &charmhub.Cache{Dir: cache}
	c.Note = func(format string, args ...any) { *w.notes = append(*w.notes, fmt.Sprintf(format, args...)) }
	t.Cleanup(c.Cache.LetGo)
	return c
}

const manifest = "bases: [{name: ubuntu, channel: '22.04', architectures: [amd64]}, {name: ubuntu, channel: '24.04', architectures: [amd64]}]\n"

// release adds a charm to the hub, under that file name.
func (w world) release(t *testing.T, file string) {
	t.Helper()
	hubtest.Charm(t, filepath.Join(w.dir, file), map[string]string{
		"metadata.yaml": "name: ledger\nsummary: Keeps accounts\nprovides: {db: {interface: kv}}\nresources: {seed: {type: file, filename: seed.txt}}\n",
		"manifest.yaml": manifest, "version": file,
	})
}

func want(t *testing.T, text string) charmhub.Want {
	t.Helper()
	w := charmhub.Want{Name: "ledger", Revision: charmhub.Latest}
	if text != "" {
		var err error
		if w.Channel, err = charmhub.ParseChannel(text); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func TestAReleaseIsFoundByItsChannelAndByItsRevision(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, file := range []string{"ledger_r41.charm", "ledger_r42_edge.charm", "ledger_r7_14-stable.charm", "ledger_r8_14-beta_ubuntu-24.04-amd64.charm"} {
		w.release(t, file)
	}
	seven := want(t, "edge")
	seven.Revision = 7
	for _, c := range []struct {
		want              charmhub.Want
		revision          int
		channel, base, of string
	}{
		{want(t, ""), 41, "latest/stable", "ubuntu@22.04", "the default"},
		{want(t, "edge"), 42, "latest/edge", "ubuntu@22.04", "a risk"},
		{want(t, "latest/candidate"), 41, "latest/stable", "ubuntu@22.04", "a closed risk"},
		{want(t, "14"), 7, "14/stable", "ubuntu@22.04", "a track"},
		{want(t, "14/edge"), 8, "14/beta", "ubuntu@22.04", "both"},
		{seven, 7, "edge", "", "a revision: the channel is only kept"},
	} {
		got, err := w.Install(t.Context(), c.want)
		if err != nil || got.Revision != c.revision || got.Channel.String() != c.channel || got.Base.String() != c.base || got.ID == "" {
			t.Errorf("%s: got %d, %s, %s, %v", c.of, got.Revision, got.Channel, got.Base, err)
		}
	}
	prefers := want(t, "")
	prefers.Prefer = charmhub.Base{Name: "ubuntu", Channel: "24.04"}
	if got, err := w.Install(t.Context(), prefers); err != nil || got.Base.String() != "ubuntu@24.04" {
		t.Errorf("with a base that is preferred: %s, %v", got.Base, err)
	}
	first, err := w.Install(t.Context(), want(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	w.release(t, "ledger_r50.charm")
	got, err := w.Refresh(t.Context(), want(t, ""), charmhub.Runs{ID: first.ID, Revision: 41, Base: first.Base})
	if err != nil || got.Revision != 50 || got.Name != "ledger" {
		t.Errorf("refreshed: %d, %v", got.Revision, err)
	}
}

func TestWhatThereIsIsSaidWhereSomethingIsNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.release(t, "ledger_r41.charm")
	w.release(t, "ledger_r42_edge.charm")
	focal, revision, other := want(t, ""), want(t, ""), want(t, "")
	focal.Base = charmhub.Base{Name: "ubuntu", Channel: "20.04"}
	revision.Revision, other.Name = 3, "gauge"
	const there = `available releases are: channel "latest/edge": available bases are: ubuntu@22.04, ubuntu@24.04; channel "latest/stable": available bases are: ubuntu@22.04, ubuntu@24.04`
	for _, c := range []struct {
		want charmhub.Want
		err  string
	}{
		{want(t, "2/edge"), `selecting releases: charm or bundle not found for channel "2/edge", base "amd64"; ` + there},
		{focal, `selecting releases: charm or bundle not found in the charm's default channel, base "amd64/ubuntu/20.04"; ` + there},
		{revision, `resolving error: "ledger" has no revision 3: no such revision`},
		{other, `resolving error: charm or bundle name not found: "gauge"`},
	} {
		_, err := w.Install(t.Context(), c.want)
		if err == nil || err.Error() != c.err || !errors.Is(err, errors.NotFound) || errors.Is(err, charmhub.ErrNoRelease) != strings.HasPrefix(c.err, "selecting") || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v\nwant %s", err, c.err)
		}
	}
	if _, err := w.Info(t.Context(), "gauge", charmhub.Channel{}); err == nil || err.Error() != `No information found for charm or bundle with the name "gauge"` {
		t.Errorf("info: %v", err)
	}
}

// TestTheAnswerOfTheContractIsRead: an example of the contract, as it stands there.
// Source: docs/spec/juju-clients.md §12.3.
func TestTheAnswerOfTheContractIsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const file = "first accounts"
	var asked map[string]any
	w.hub.Misbehave(func(rw http.ResponseWriter, r *http.Request) bool {
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		rw.Header().Set("Content-Type", "application/json; charset=utf-8")
		fmt.Fprintf(rw, `{"error-list":[],"results":[{"instance-key":"other"},{"instance-key":"1","result":"install","id":"chARm1","name":"ledger",
 "effective-channel":"stable","released-at":"2026-02-01T10:00:00+00:00",
 "charm":{"type":"charm","id":"chARm1","name":"ledger","revision":41,"version":"2.1","publisher":{"display-name":"Quay Works"},
  "bases":[{"architecture":"all","name":"all","channel":"all"}],
  "download":{"url":"https://api.example/x_41.charm","size":52311,"hash-sha-256":"%064d","hash-sha-384":"%096d"},
  "resources":[{"name":"seed-data","type":"file","filename":"seed.tar","description":"%s","revision":4,
                "download":{"url":"https://api.example/seed_4","size":1024,"hash-sha-256":"%064d","hash-sha-384":"%096d"}}],
  "metadata-yaml":"name: ledger\n","config-yaml":"{}"}}]}`, 1, 2, file, 3, 4)
		return true
	})
	got, err := w.Install(t.Context(), want(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	if got.Revision != 41 || got.Channel.String() != "stable" || got.ID != "chARm1" || got.Download.Size != 52311 || got.Version != "2.1" || got.Base.Known() ||
		len(got.Resources) != 1 || got.Resources[0].Revision != 4 || got.Resources[0].Description != file {
		t.Errorf("got %+v", got)
	}
	b, err := json.Marshal(asked["actions"])
	if err != nil || string(b) != `[{"action":"install","base":{"architecture":"amd64","channel":"NA","name":"NA"},"channel":"stable","instance-key":"1","name":"ledger"}]` {
		t.Errorf("asked %s, %v", b, err)
	}
	if c, ok := asked["context"].([]any); !ok || len(c) != 0 {
		t.Errorf("the context is %v", asked["context"])
	}
}

func TestBusyHubsAreTriedAgainAndSlowOnesAreNot(t *testing.T) {
	t.Parallel()
	say := func(code int, header, value string) func(http.ResponseWriter) {
		return func(rw http.ResponseWriter) {
			rw.Header().Set(header, value)
			rw.WriteHeader(code)
		}
	}
	hang := func(rw http.ResponseWriter) { panic(http.ErrAbortHandler) }
	for _, c := range []struct {
		name   string
		first  []func(http.ResponseWriter)
		waited string
		err    string
	}{
		{"503, then well", []func(http.ResponseWriter){say(503, "X", "")}, "[10s]", ""},
		{"429 that says when", []func(http.ResponseWriter){say(429, "Retry-After", "90"), say(502, "Retry-After", "3600")}, "[1m30s 10m0s]", ""},
		{"504 three times", []func(http.ResponseWriter){say(504, "", ""), say(504, "", ""), say(504, "", "")}, "[10s 10s]", "(504 Gateway Timeout)"},
		{"a date", []func(http.ResponseWriter){say(503, "Retry-After", "Sun, 01 Mar 2026 12:00:30 GMT")}, "[30s]", ""},
		{"500 is no reason to ask again", []func(http.ResponseWriter){say(500, "", "")}, "[]", "(500 Internal Server Error)"},
		{"no answer, once", []func(http.ResponseWriter){hang}, "[3s]", ""},
		{"no answer, twice", []func(http.ResponseWriter){hang, hang}, "[3s]", "the answer ended early"},
		{"404 of another server", []func(http.ResponseWriter){say(404, "Content-Type", "text/html")}, "[]", "unexpected charm-hub url"},
		{"another type", []func(http.ResponseWriter){say(200, "Content-Type", "text/html")}, "[]", `unexpected content-type from server "text/html"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.release(t, "ledger_r41.charm")
			// A connection that is kept is tried again by net/http itself.
			w.HTTP.(*http.Transport).DisableKeepAlives = true
			n := 0
			w.hub.Misbehave(func(rw http.ResponseWriter, _ *http.Request) bool {
				if n++; n > len(c.first) {
					return false
				}
				c.first[n-1](rw)
				return true
			})
			got, err := w.Install(t.Context(), want(t, ""))
			if waited := fmt.Sprint(w.clock.waited); waited != c.waited {
				t.Errorf("waited %s, want %s", waited, c.waited)
			}
			if c.err == "" && (err != nil || got.Revision != 41) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("got %d, %v, want %q", got.Revision, err, c.err)
			}
		})
	}
}

func TestASlowHubIsGivenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hub.Misbehave(func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body)
		w.clock.pass()
		<-r.Context().Done()
		return true
	})
	_, err := w.Install(t.Context(), want(t, ""))
	if !errors.Is(err, charmhub.ErrUnreachable) || !strings.Contains(err.Error(), "no answer within 10s") {
		t.Errorf("got %v", err)
	}
}

func TestGarbageIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, err string }{
		{`{`, "unexpected end of JSON"},
		{`[]`, "cannot unmarshal"},
		{`{"results":[]}`, "says nothing of what was asked"},
		{`{"results":[{"instance-key":"1","result":"error"}]}`, "no reason is given"},
		{`{"error-list":[{"code":"payment-required","message":"pay\nfirst"}]}`, "resolving error: pay first"},
		{`{"results":[{"instance-key":"1","charm":{"type":"charm","name":"../x"}}]}`, `names "../x"`},
		{`{"results":[{"instance-key":"1","charm":{"type":"snap","name":"x"}}]}`, `is a "snap"`},
		{`{"results":[{"instance-key":"1","charm":{"type":"charm","name":"x","revision":-4}}]}`, "revision -4"},
		{`{"results":[{"instance-key":"1","charm":{"type":"charm","name":"x","download":{"url":"https://x/y"}}}]}`, "has no hash"},
		{`{"results":[{"instance-key":"1","charm":{"type":"charm","name":"x","download":{"url":"gopher://x/y"}}}]}`, "download URL"},
		{`{"results":[{"instance-key":"1","effective-channel":"a/b/c/d","charm":{"type":"charm","name":"x"}}]}`, "too many components"},
		{`{"results":[{"instance-key":"1","charm":{"type":"charm","name":"x","download":{"url":"https://x/y","hash-sha-256":"../../x"}}}]}`, "has the hash"},
	} {
		w := newWorld(t)
		w.hub.Misbehave(func(rw http.ResponseWriter, _ *http.Request) bool {
			rw.Header().Set("Content-Type", "application/json")
			fmt.Fprint(rw, c.body)
			return true
		})
		_, err := w.Install(t.Context(), want(t, ""))
		if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %q", c.body, err, c.err)
		}
	}
}

func TestDownloadsAreVerified(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		spoil  func(rw http.ResponseWriter, b []byte)
		err    string
		waited int
	}{
		{"whole", func(rw http.ResponseWriter, b []byte) { _, _ = rw.Write(b) }, "", 0},
		{"another content of that length", func(rw http.ResponseWriter, b []byte) { b[10] ^= 1; _, _ = rw.Write(b) }, "another hash", 0},
		{"too long", func(rw http.ResponseWriter, b []byte) { _, _ = rw.Write(append(b, 'x')) }, "longer than", 0},
		{"too short", func(rw http.ResponseWriter, b []byte) { _, _ = rw.Write(b[:9]) }, "ended after 9 of", 1},
		{"cut off", func(rw http.ResponseWriter, b []byte) {
			rw.Header().Set("Content-Length", "1000000")
			_, _ = rw.Write(b[:9])
		}, "ended early", 1},
		{"gone", func(rw http.ResponseWriter, _ []byte) { rw.WriteHeader(404) }, "archive not found", 0},
		{"forbidden", func(rw http.ResponseWriter, _ []byte) { rw.WriteHeader(403) }, "unable to locate archive (store API responded with status: 403 Forbidden)", 0},
		{"busy", func(rw http.ResponseWriter, _ []byte) { rw.WriteHeader(503) }, "it says 503", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.release(t, "ledger_r41.charm")
			w.HTTP.(*http.Transport).DisableKeepAlives = true
			r, err := w.Install(t.Context(), want(t, ""))
			if err != nil {
				t.Fatal(err)
			}
			w.hub.Misbehave(func(rw http.ResponseWriter, _ *http.Request) bool {
				b, err := os.ReadFile(filepath.Join(w.dir, "ledger_r41.charm"))
				if err != nil {
					t.Error(err)
				}
				c.spoil(rw, b)
				return true
			})
			path, err := w.Fetch(t.Context(), r)
			if c.err == "" {
				got, readErr := os.ReadFile(path)
				same, _ := os.ReadFile(filepath.Join(w.dir, "ledger_r41.charm"))
				if err != nil || readErr != nil || string(got) != string(same) {
					t.Errorf("got %v, %v", err, readErr)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.err) || len(w.clock.waited) != c.waited {
				t.Errorf("got %v after %v", err, w.clock.waited)
			}
			kept, err := w.Cache.List()
			left, _ := filepath.Glob(filepath.Join(w.Cache.Dir, "files", "*"))
			parts, _ := filepath.Glob(filepath.Join(w.Cache.Dir, "files", ".part-*"))
			if err != nil || len(kept)+len(left)+len(parts) != 0 {
				t.Errorf("%v, %v, %v, %v are left", kept, left, parts, err)
			}
		})
	}
}

func TestADownloadThatStallsIsGivenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.release(t, "ledger_r41.charm")
	r, err := w.Install(t.Context(), want(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	w.hub.Misbehave(func(rw http.ResponseWriter, r *http.Request) bool {
		_, _ = rw.Write([]byte("PK"))
		rw.(http.Flusher).Flush()
		w.clock.pass()
		<-r.Context().Done()
		return true
	})
	if _, err := w.Fetch(t.Context(), r); err == nil || !strings.Contains(err.Error(), "nothing has come for 1m0s") {
		t.Errorf("got %v", err)
	}
}

package live_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/page"
	"github.com/unitd/unitd/page/live"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
	"github.com/unitd/unitd/why"
)

const token = "0123456789abcdef0123456789abcdef"

// world is a model whose page is served. No agent runs.
type world struct {
	testing.TB
	ctx   context.Context
	store store.Store
	model *state.Model
	dir   string
	serve *live.Server
	base  string // its URL, without a slash
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldWith(t, nil)
}

// newWorldWith is newWorld with other hosts.
func newWorldWith(t testing.TB, others func(context.Context) ([]live.Other, error)) *world {
	t.Helper()
	w := &world{TB: t, ctx: t.Context(), dir: t.TempDir()}
	w.store = etcdtest.Open(t, filepath.Join(w.dir, "store.db"))
	c := state.NewController(w.store, clock.WallClock)
	var err error
	w.model, err = c.AddModel(w.ctx, "m")
	w.ok(err)
	sum := sha256.Sum256([]byte("shop"))
	url, err := w.model.AddCharm(w.ctx, model.Charm{Name: "shop", Options: map[string]model.ConfigOption{"title": {Type: "string"}}}, hex.EncodeToString(sum[:]), strings.NewReader("shop"))
	w.ok(err)
	w.ok(w.model.Deploy(w.ctx, state.DeployArgs{Application: "shop", Charm: url, Units: 1}))
	w.ok(os.MkdirAll(machine.HistoryDir(w.dir, w.model.UUID()), 0o700))
	view := live.NewView(w.model, w.dir)
	view.Others = others
	w.serve = &live.Server{View: view, Token: token, Detail: func(ctx context.Context, u model.UnitName) (page.Detail, error) {
		return view.Detail(ctx, u, why.Answer{Sentence: string(u) + " waits"})
	}}
	ctx, stop := context.WithCancel(context.Background())
	var run sync.WaitGroup
	run.Go(func() {
		if err := view.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("the view has ended: %v", err)
		}
	})
	server := httptest.NewServer(w.serve.Handler())
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		stop()
		run.Wait()
	})
	w.base = server.URL
	return w
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// ask makes a request as the page does, changed by change, which may be nil.
func (w *world) ask(method, path, body string, change func(*http.Request)) (*http.Response, string) {
	w.Helper()
	r, err := http.NewRequestWithContext(w.ctx, method, w.base+path, strings.NewReader(body))
	w.ok(err)
	r.Header.Set("Authorization", "Bearer "+token)
	if method != http.MethodGet {
		r.Header.Set("Origin", w.base)
	}
	if change != nil {
		change(r)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	w.ok(err)
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	w.ok(err)
	return answer, strings.TrimSpace(string(b))
}

// stream is what a browser gets of the events.
type stream struct {
	*world
	lines *bufio.Reader
	parts page.Encoded
	log   []debuglog.Entry
	first int
}

func (w *world) look() *stream {
	w.Helper()
	r, err := http.NewRequestWithContext(w.ctx, http.MethodGet, w.base+"/events", nil)
	w.ok(err)
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	w.ok(err)
	w.Cleanup(func() { answer.Body.Close() })
	return &stream{world: w, lines: bufio.NewReader(answer.Body), parts: page.Encoded{}}
}

// until reads events until what came satisfies is.
func (s *stream) until(is func() bool) {
	s.Helper()
	for !is() {
		line, err := s.lines.ReadString('\n')
		s.ok(err)
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var e struct {
			page.Delta
			First bool
			Lines []debuglog.Entry
		}
		s.ok(json.Unmarshal([]byte(data), &e))
		if e.First {
			s.first++
		}
		maps.Copy(s.parts, e.Set)
		for _, key := range e.Gone {
			delete(s.parts, key)
		}
		s.log = append(s.log, e.Lines...)
	}
}

func (s *stream) has(key, text string) func() bool {
	return func() bool { return strings.Contains(string(s.parts[key]), text) && s.parts[key] != nil }
}

func TestABrowserGetsAllAndThenWhatChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.look()
	s.until(s.has("unit/shop/0", `"status":"waiting"`))
	if s.first != 1 || s.parts["app/shop"] == nil || s.parts["model"] == nil {
		t.Errorf("of %d whole pages came %v", s.first, slicesOf(s.parts))
	}
	w.ok(w.model.SetExposed(w.ctx, "shop", true))
	s.until(s.has("app/shop", `"exposed":true`))

	_, err := w.model.AddUnits(w.ctx, "shop", 1)
	w.ok(err)
	s.until(s.has("unit/shop/1", ""))
	w.ok(w.model.DestroyUnit(w.ctx, "shop/1"))
	s.until(func() bool { return s.parts["unit/shop/1"] == nil })

	w.ok(history.Append(durable.Disk{}, machine.HistoryDir(w.dir, w.model.UUID()), history.Entry{Unit: "shop/0", Run: 1, Hook: hooks.Info{Kind: hooks.Install, RelationID: model.NoRelation}, Outcome: history.Committed, Started: time.Now()}))
	s.until(s.has("run/shop/0/0", `"hook":"install"`))

	// Somebody who comes later gets it all, too.
	late := w.look()
	late.until(late.has("run/shop/0/0", `"hook":"install"`))
	if late.parts["app/shop"] == nil || s.first != 1 || late.first != 1 {
		t.Errorf("later came %v", slicesOf(late.parts))
	}
}

func slicesOf(e page.Encoded) (keys []string) {
	for key := range e {
		keys = append(keys, key)
	}
	return keys
}

func TestTheLogIsShownAsItGrows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.look()
	s.until(s.has("unit/shop/0", ""))
	log, err := debuglog.Open(durable.Disk{}, machine.LogPath(w.dir, w.model.UUID()))
	w.ok(err)
	defer log.Close()
	start := time.Now().Truncate(time.Millisecond)
	for i := range 3 {
		w.ok(log.Write(debuglog.Entry{Time: start.Add(time.Duration(i) * time.Second), Entity: "unit-shop-0", Level: "INFO", Module: "unit.shop/0.juju-log", Message: fmt.Sprint("line ", i)}))
	}
	w.ok(log.Write(debuglog.Entry{Time: start, Entity: "unit-shop-1", Level: "INFO", Message: "another's"}))
	s.until(func() bool { return len(s.log) == 4 })

	ask := func(from, to time.Time) string {
		_, body := w.ask(http.MethodGet, fmt.Sprintf("/lines?entity=unit-shop-0&from=%d&to=%d", from.UnixMilli(), to.UnixMilli()), "", nil)
		return body
	}
	if body := ask(start.Add(time.Second), start.Add(2*time.Second)); strings.Contains(body, "line 0") || !strings.Contains(body, "line 1") || !strings.Contains(body, "line 2") {
		t.Errorf("between two times was logged %s", body)
	}
	if body := ask(start, start); !strings.Contains(body, "line 0") || strings.Contains(body, "another") {
		t.Errorf("at one time was logged %s", body)
	}
	if answer, body := w.ask(http.MethodGet, "/lines?entity=x&from=y&to=1", "", nil); answer.StatusCode != http.StatusBadRequest {
		t.Errorf("a time that is none: %d %s", answer.StatusCode, body)
	}
}

func TestOnlyThePageItselfMayAsk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve.Do = func(context.Context, []string) (string, error) { return "", nil }
	w.ok(history.Append(durable.Disk{}, machine.HistoryDir(w.dir, w.model.UUID()), history.Entry{Unit: "shop/0", Run: 1, Outcome: history.Committed, Message: "whole"}))
	without := func(r *http.Request) { r.Header.Del("Authorization") }
	for name, test := range map[string]struct {
		method, path, body string
		change             func(*http.Request)
		want               int
	}{
		"the page":                       {"GET", "/", "", nil, 200},
		"no such file":                   {"GET", "/files/index.html", "", nil, 404},
		"the page has no secret":         {"GET", "/", "", without, 200},
		"anything else without a token":  {"GET", "/files/index.html", "", without, 401},
		"events without a token":         {"GET", "/events", "", without, 401},
		"a unit without a token":         {"GET", "/unit?name=shop/0&token=" + token, "", without, 401},
		"a run without a token":          {"GET", "/run?unit=shop/0&run=1&outcome=committed", "", without, 401},
		"lines without a token":          {"GET", "/lines?entity=x&from=0&to=1", "", without, 401},
		"a mark without a token":         {"POST", "/mark", "", without, 401},
		"a command without one":          {"POST", "/do", `["add-unit","shop"]`, without, 401},
		"a wrong token":                  {"GET", "/unit?name=shop/0", "", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+strings.Repeat("0", 32)) }, 401},
		"another kind of token":          {"GET", "/unit?name=shop/0", "", func(r *http.Request) { r.Header.Set("Authorization", token) }, 401},
		"a run":                          {"GET", "/run?unit=shop/0&run=1&outcome=committed", "", nil, 200},
		"a run that is not there":        {"GET", "/run?unit=shop/0&run=2&outcome=committed", "", nil, 404},
		"a run that is none":             {"GET", "/run?unit=shop/0&run=x", "", nil, 400},
		"by a name that leads here":      {"GET", "/", "", func(r *http.Request) { r.Host = "evil.example" }, 403},
		"by a name that looks like here": {"GET", "/", "", func(r *http.Request) { r.Host = "127.0.0.1.evil.example:80" }, 403},
		"by localhost":                   {"GET", "/", "", func(r *http.Request) { r.Host = "localhost:1" }, 200},
		"by IPv6":                        {"GET", "/", "", func(r *http.Request) { r.Host = "[::1]:1" }, 200},
		"a command":                      {"POST", "/do", `["add-unit","shop"]`, nil, 200},
		"a command of another page":      {"POST", "/do", `["add-unit","shop"]`, func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, 403},
		"a command of nowhere":           {"POST", "/do", `["add-unit","shop"]`, func(r *http.Request) { r.Header.Del("Origin") }, 403},
		"a command that is none":         {"POST", "/do", `{}`, nil, 400},
		"a command by GET":               {"GET", "/do", "", nil, 405},
		"a unit":                         {"GET", "/unit?name=shop/0", "", nil, 200},
		"no such unit":                   {"GET", "/unit?name=shop/9", "", nil, 404},
		"not a unit":                     {"GET", "/unit?name=../x", "", nil, 400},
		"a mark that is not there":       {"GET", "/changes?from=7", "", nil, 404},
	} {
		answer, body := w.ask(test.method, test.path, test.body, test.change)
		if answer.StatusCode != test.want {
			t.Errorf("%s: %d, want %d: %s", name, answer.StatusCode, test.want, body)
		}
		if policy := answer.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || answer.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: the headers are %v", name, answer.Header)
		}
	}
}

func TestAPageChangesWhatItsButtonsChangeAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if answer, _ := w.ask("POST", "/do", `["add-unit","shop"]`, nil); answer.StatusCode != http.StatusForbidden {
		t.Errorf("without leave: %d", answer.StatusCode)
	}
	var did []string
	w.serve.Do = func(_ context.Context, line []string) (string, error) {
		did = line
		if line[1] == "wrong" {
			return "", errors.New("there is no wrong")
		}
		return "done", nil
	}
	for line, want := range map[string]int{
		`["add-unit","shop"]`:                            200,
		`["resolved","shop/0"]`:                          200,
		`["resolved","--no-retry","shop/0"]`:             200,
		`["run","shop/0","dump","a=-1","b=x y"]`:         200,
		`["config","shop","title=--x"]`:                  200,
		`["config","shop","--reset","title"]`:            200,
		`["add-unit","wrong"]`:                           200,
		`["add-unit","shop","-n","7"]`:                   403,
		`["add-unit","--model","other"]`:                 403,
		`["remove-unit","shop/0"]`:                       403,
		`["resolved","--all"]`:                           403,
		`["config","shop","/etc/passwd"]`:                403,
		`["config","shop","title=@/etc/passwd"]`:         403,
		`["config","shop","--reset","-f"]`:               403,
		`["config","shop"]`:                              403,
		`["run","shop/0"]`:                               403,
		`["run","shop/0","dump","--params","/etc/x"]`:    403,
		`["run","shop/0","dump","--","x"]`:               403,
		`["exec","shop/0","id"]`:                         403,
		`[]`:                                             403,
		`["add-unit"]`:                                   403,
		`["resolved","shop/0","--no-retry","--dry-run"]`: 403,
	} {
		did = nil
		answer, body := w.ask("POST", "/do", line, nil)
		if answer.StatusCode != want || (did != nil) != (want != 403) {
			t.Errorf("%s: %d %s, want %d; it did %q", line, answer.StatusCode, body, want, did)
		}
	}
	if _, body := w.ask("POST", "/do", `["add-unit","wrong"]`, nil); body != `{"wrong":"there is no wrong"}` {
		t.Errorf("what is wrong is told as %q", body)
	}
	if _, body := w.ask("POST", "/do", `["add-unit","shop"]`, nil); body != `{"printed":"done"}` {
		t.Errorf("what was done is told as %q", body)
	}
}

func TestTwoMomentsAreCompared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mark := func() string {
		_, body := w.ask("POST", "/mark", "", nil)
		var m live.Mark
		w.ok(json.Unmarshal([]byte(body), &m))
		return fmt.Sprint(m.ID)
	}
	first := mark()
	if _, body := w.ask("GET", "/changes?from="+first, "", nil); body != "[]" {
		t.Errorf("at once has changed %s", body)
	}
	w.ok(w.model.SetCharmStatus(w.ctx, "shop/0", model.Status{Status: "active", Message: "now"}))
	second := mark()
	if _, body := w.ask("GET", "/changes?from="+first+"&to="+second, "", nil); !strings.Contains(body, `"sign":"~"`) || !strings.Contains(body, "active") {
		t.Errorf("then has changed %s", body)
	}
	if _, body := w.ask("GET", "/changes?from="+second, "", nil); body != "[]" {
		t.Errorf("since then has changed %s", body)
	}
	w.ok(w.model.SetConfig(w.ctx, "shop", map[string]string{"title": "Toys"}, nil))
	if _, body := w.ask("GET", "/changes?from="+second, "", nil); !strings.Contains(body, `[{"sign":"+","line":"shop options  + title: Toys"}]`) {
		t.Errorf("with an option has changed %s", body)
	}
	for range 20 {
		mark()
	}
	if answer, _ := w.ask("GET", "/changes?from="+first, "", nil); answer.StatusCode != http.StatusNotFound {
		t.Errorf("the first of many marks is answered with %d", answer.StatusCode)
	}
}

func TestDeferredEventsAreShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	notices := "[[ShopCharm/on/start, ShopCharm, _on_start]]"
	w.ok(w.model.Apply(w.ctx, "shop/0", model.Changes{State: map[string]*string{"#notices#": &notices}}))
	if _, body := w.ask("GET", "/unit?name=shop/0", "", nil); !strings.Contains(body, `"deferred":[{"event":"start","observer":"ShopCharm._on_start"}]`) {
		t.Errorf("the unit is %s", body)
	}
}

func TestAPageIsCapturedWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ok(history.Append(durable.Disk{}, machine.HistoryDir(w.dir, w.model.UUID()), history.Entry{Unit: "shop/0", Run: 1, Outcome: history.Committed}))
	got, err := live.NewView(w.model, w.dir).Capture(w.ctx, func(u model.UnitName) why.Answer { return why.Answer{Sentence: "why " + string(u)} })
	w.ok(err)
	if got.Name != "m" || got.Parts["run/shop/0/0"] == nil || got.Parts["unit/shop/0"] == nil || got.Details["shop/0"].Why != "why shop/0" || len(got.Details["shop/0"].Options) != 1 {
		t.Errorf("captured is %+v", got)
	}
}

package page_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/page"
	"github.com/unitd/unitd/state"
)

// status is a model with two applications, one unit of which is in error.
func status() *state.FullStatus {
	db := model.Endpoint{Application: "ledger", Name: "db", Role: model.Provider, Interface: "ledgerdb", Scope: model.Global}
	shop := model.Endpoint{Application: "shop", Name: "db", Role: model.Requirer, Interface: "ledgerdb", Scope: model.Global}
	since := time.UnixMilli(1000)
	return &state.FullStatus{
		Model: state.ModelInfo{Name: "m", UUID: "u"}, Controller: "unitd",
		Applications: []state.ApplicationView{
			{ApplicationDoc: state.ApplicationDoc{Name: "ledger", Charm: "local:ledger-2"}, CharmDoc: state.CharmDoc{Revision: 2, Charm: model.Charm{Name: "ledger"}}, Status: model.Status{Status: "active"}, Endpoints: []model.Endpoint{db}},
			{
				ApplicationDoc: state.ApplicationDoc{Name: "shop", Charm: "local:shop-1"}, CharmDoc: state.CharmDoc{Revision: 1, Charm: model.Charm{Name: "shop"}}, Status: model.Status{Status: "error"},
				Units: []state.UnitView{{
					UnitDoc: state.UnitDoc{Name: "shop/0", Machine: "3", Failed: 4, Charm: "local:shop-0"}, Leader: true,
					Workload: model.Status{Status: "error", Message: "hook failed", Since: since}, Agent: model.Status{Status: "idle"},
					Ports: model.Ports{"": {{From: 80, To: 80, Protocol: "tcp"}}},
				}},
			},
		},
		Relations: []state.RelationDoc{{ID: 7, Endpoints: []model.Endpoint{shop, db}, Suspended: true}},
		Offers:    []state.OfferView{{OfferDoc: state.OfferDoc{Name: "books", Application: "ledger"}}},
		Machines:  []state.MachineView{{MachineDoc: state.MachineDoc{ID: "3", Hostname: "here"}, Present: true}},
	}
}

// encoded is a value's JSON, read again.
func encoded(t *testing.T, e page.Encoded, key string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(e[key], &out); err != nil {
		t.Fatalf("%s: %v (there are %d parts)", key, err, len(e))
	}
	return out
}

func encode(t *testing.T, p page.Parts) page.Encoded {
	t.Helper()
	e, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestAStatusIsParts(t *testing.T) {
	t.Parallel()
	e := encode(t, page.Of(status()))
	if len(e) != 6 {
		t.Errorf("there are %d parts", len(e))
	}
	u := encoded(t, e, "unit/shop/0")
	workload, _ := u["workload"].(map[string]any)
	if u["leader"] != true || u["failed"] != 4.0 || u["revision"] != "local:shop-0" || workload["since"] != 1000.0 || fmt.Sprint(u["ports"]) != "[80/tcp]" {
		t.Errorf("the unit is %v", u)
	}
	if a := encoded(t, e, "app/ledger"); fmt.Sprint(a["offered"]) != "[books]" || a["units"] != 0.0 || a["revision"] != 2.0 {
		t.Errorf("the application is %v", a)
	}
	if r := encoded(t, e, "relation/7"); r["suspended"] != true || r["interface"] != "ledgerdb" {
		t.Errorf("the relation is %v", r)
	}
	if m := encoded(t, e, "machine/3"); m["present"] != true || m["hostname"] != "here" {
		t.Errorf("the machine is %v", m)
	}
}

func TestOnlyWhatHasChangedIsSent(t *testing.T) {
	t.Parallel()
	first, s := encode(t, page.Of(status())), status()
	if d := first.Since(encode(t, page.Of(status()))); !d.Empty() {
		t.Errorf("of the same status came %v", d)
	}
	s.Applications[1].Units[0].Agent.Status = "executing"
	s.Relations = nil
	d := encode(t, page.Of(s)).Since(first)
	if len(d.Set) != 1 || d.Set["unit/shop/0"] == nil || fmt.Sprint(d.Gone) != "[relation/7]" {
		t.Errorf("came %v", d)
	}
}

// TestChangesInARowAreOne: what one sets and the next takes away is gone, and the other
// way round it is there.
func TestChangesInARowAreOne(t *testing.T) {
	t.Parallel()
	one, two := json.RawMessage("1"), json.RawMessage("2")
	d := page.Delta{Set: page.Encoded{"a": one, "b": one}, Gone: []string{"c", "d"}}.Then(page.Delta{Set: page.Encoded{"a": two, "c": two}, Gone: []string{"b", "e"}})
	if len(d.Set) != 2 || string(d.Set["a"]) != "2" || string(d.Set["c"]) != "2" || fmt.Sprint(d.Gone) != "[b d e]" {
		t.Errorf("both are %v", d)
	}
	if d := (page.Delta{}).Then(page.Delta{}); !d.Empty() || d.Set == nil {
		t.Errorf("of nothing is %v", d)
	}
}

func TestAUnitsNewestRunsAreShownWithTheirCauses(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 3, 9, 0, 0, 1000, time.UTC)
	wrote := history.Entry{
		Unit: "db/0", Run: 1, Name: "start", Outcome: history.Committed, Started: at, Duration: 1500 * time.Microsecond, Tools: 1,
		Written: history.Written{Databags: 3, Bags: []model.RelationID{2}}, Calls: []history.Call{{Tool: "relation-set", At: time.Millisecond, Took: time.Millisecond, Code: 2}},
	}
	tells := history.Entry{
		Unit: "shop/0", Run: 1, Name: "db-relation-changed", Outcome: history.Failed, Message: "exit status 1", Exit: 1, Started: at.Add(time.Second),
		Hook: hooks.Info{Kind: hooks.RelationChanged, RelationID: 2, RemoteUnit: "db/0", RemoteApp: "db", Cause: "databag changed"},
	}
	r := page.NewRuns(true)
	r.Note([]history.Entry{tells, wrote})
	came, gone := r.Add([]history.Entry{tells, wrote})
	e := encode(t, came)
	run := encoded(t, e, "run/shop/0/0")
	if run["from"] != "run/db/0/0" || run["message"] != "exit status 1" || run["remote"] != "db/0" || run["cause"] != "databag changed" || len(gone) != 0 {
		t.Errorf("the run is %v; gone are %v", run, gone)
	}
	if run := encoded(t, e, "run/db/0/0"); run["took"] != 1.5 || run["started"] != float64(at.UnixMilli())+.001 || len(run["calls"].([]any)) != 1 || run["from"] != nil {
		t.Errorf("the run is %v", run)
	}

	var many []history.Entry
	for i := range page.MaxRuns + 10 {
		many = append(many, history.Entry{Unit: "db/0", Run: int64(i + 2)})
	}
	came, gone = r.Add(many)
	if len(came) != page.MaxRuns || len(gone) != 1 || gone[0] != "run/db/0/0" || came["run/db/0/11"] == nil {
		t.Errorf("came %d runs, gone are %v", len(came), gone)
	}
	if brief := page.NewRuns(false); true {
		failed := wrote
		failed.Run, failed.Outcome, failed.Message = 2, history.Failed, strings.Repeat("ä", 300)
		again := wrote
		again.Run = 3
		came, _ := brief.Add([]history.Entry{wrote, failed, again})
		for key, want := range map[string]any{"run/db/0/0": nil, "run/db/0/1": nil, "run/db/0/2": true} {
			if run := encoded(t, encode(t, came), key); run["retry"] != want {
				t.Errorf("%s is run again: %v, want %v", key, run["retry"], want)
			}
		}
		if run := encoded(t, encode(t, came), "run/db/0/0"); run["calls"] != nil || run["tools"] != 1.0 || !reflect.DeepEqual(run["ticks"], []any{1.0}) {
			t.Errorf("in brief it is %v", run)
		}
		if run := encoded(t, encode(t, came), "run/db/0/1"); run["message"] != strings.Repeat("ä", 200)+"…" {
			t.Errorf("in brief one that has failed is %v", run)
		}
	}
	if came, gone = r.Add(many[:1]); len(came) != 1 || len(gone) != 1 || gone[0] != "run/db/0/11" {
		t.Errorf("then came %v, gone are %v", came, gone)
	}
}

// TestRunsOfUnitsOfOneNameAreToldApart, and one whose agent was killed has its place.
func TestRunsOfUnitsOfOneNameAreToldApart(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC)
	wrote := func(id string, rev int64) history.Entry {
		return history.Entry{Unit: "db/0", ID: id, Run: 1, Outcome: history.Committed, Started: at, Duration: time.Second, Rev: rev, Written: history.Written{Databags: 1, Bags: []model.RelationID{2}}}
	}
	tells := func(run, seen int64) history.Entry {
		return history.Entry{Unit: "shop/0", Run: run, Outcome: history.Committed, Seen: seen, Started: at, Hook: hooks.Info{Kind: hooks.RelationChanged, RelationID: 2, RemoteUnit: "db/0"}}
	}
	killed := history.Entry{Unit: "db/0", ID: "new", Run: 2, Outcome: history.Interrupted}
	all := []history.Entry{wrote("old", 5), wrote("new", 9), killed, tells(1, 6), tells(2, 10)}
	r := page.NewRuns(false)
	r.Note(all)
	came, _ := r.Add(all)
	e := encode(t, came)
	for key, want := range map[string]string{"run/shop/0/0": "run/db/0/0", "run/shop/0/1": "run/db/0/1"} {
		if run := encoded(t, e, key); run["from"] != want {
			t.Errorf("%s follows from %v, want %s", key, run["from"], want)
		}
	}
	if run := encoded(t, e, "run/db/0/2"); run["unknown"] != true || run["started"] != float64(at.Add(time.Second).UnixMilli()) {
		t.Errorf("the run that was killed is %v", run)
	}
}

// TestARunOfAnotherHostIsFoundAsACauseThoughItComesLater: and takes the place of an earlier one.
func TestARunOfAnotherHostIsFoundAsACauseThoughItComesLater(t *testing.T) {
	t.Parallel()
	wrote := func(run, rev int64) []history.Entry {
		return []history.Entry{{Unit: "db/0", Run: run, Outcome: history.Committed, Rev: rev, Written: history.Written{Databags: 1, Bags: []model.RelationID{2}}}}
	}
	r := page.NewRuns(false)
	parts := page.Encoded{}
	add := func(entries []history.Entry) {
		r.Note(entries)
		came, _ := r.Add(entries)
		for _, set := range []page.Parts{came, r.Again()} {
			for key, part := range encode(t, set) {
				parts[key] = part
			}
		}
	}
	add(wrote(1, 5))
	add([]history.Entry{{Unit: "shop/0", Run: 1, Outcome: history.Committed, Seen: 10, Calls: []history.Call{{Tool: "relation-get"}}, Tools: 1, Hook: hooks.Info{Kind: hooks.RelationChanged, RelationID: 2, RemoteUnit: "db/0"}}})
	if run := encoded(t, parts, "run/shop/0/0"); run["from"] != "run/db/0/0" {
		t.Errorf("it follows from %v", run["from"])
	}
	add(wrote(2, 9))
	if run := encoded(t, parts, "run/shop/0/0"); run["from"] != "run/db/0/1" || run["tools"] != float64(1) || run["unit"] != "shop/0" {
		t.Errorf("now it is %v", run)
	}
	before := string(parts["run/shop/0/0"])
	add(wrote(3, 20)) // too late to be its cause
	if string(parts["run/shop/0/0"]) != before {
		t.Errorf("a later run has changed it: %s", parts["run/shop/0/0"])
	}
}

func TestAUnitsDetailHasWhatConcernsIt(t *testing.T) {
	t.Parallel()
	d := page.DetailOf(page.Facts{
		Unit: &state.UnitDetail{UnitView: state.UnitView{UnitDoc: state.UnitDoc{Name: "shop/0"}}, Relations: []state.UnitRelation{
			{ID: 2, Own: model.Endpoint{Application: "shop", Name: "db"}, Other: model.Endpoint{Application: "ledger", Name: "db"}, Local: model.Settings{"b": "2", "a": "1"}, Remote: []state.RemoteUnit{{Unit: "ledger/0", Settings: model.Settings{"k": "v"}}}},
			{ID: 3, Own: model.Endpoint{Application: "shop", Name: "peers"}, Other: model.Endpoint{Application: "shop", Name: "peers"}},
		}},
		Own: map[model.RelationID]model.Settings{2: {"of": "the application"}},
		Config: state.ApplicationConfig{
			Charm: state.CharmDoc{Charm: model.Charm{
				Options: map[string]model.ConfigOption{"z": {Type: "int"}, "a": {Type: "string"}}, Actions: map[string]model.ActionSpec{"dump": {Description: "d"}},
			}},
			Set: map[string]any{"z": 1}, Values: map[string]any{"z": 1},
		},
		Secrets: []model.SecretInfo{
			{ID: "mine", Owner: model.SecretOwner{Name: "shop/0"}, Revisions: []model.SecretRevision{{Revision: 2}}},
			{ID: "ours", Owner: model.SecretOwner{Name: "shop"}, Revisions: []model.SecretRevision{{Revision: 1}}},
			{ID: "theirs", Owner: model.SecretOwner{Name: "shop/1"}, Revisions: []model.SecretRevision{{Revision: 1}}, Grants: []model.SecretGrant{{Target: "bank"}}},
			{ID: "given", Description: "a word", Owner: model.SecretOwner{Name: "ledger"}, Revisions: []model.SecretRevision{{Revision: 1}}, Grants: []model.SecretGrant{{Target: "shop"}, {Target: "bank"}, {Target: "shop"}}},
			{ID: "added", Owner: model.SecretOwner{Kind: model.OwnedByModel, Name: "a-uuid"}, Revisions: []model.SecretRevision{{Revision: 1}}, Grants: []model.SecretGrant{{Target: "shop"}}},
		},
		State: map[string]string{"k": "v"},
	})
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"of":"shop/0","pairs":[{"key":"a","value":"1"},{"key":"b","value":"2"}]},{"of":"shop","pairs":[{"key":"of","value":"the application"}]},{"of":"ledger"},{"of":"ledger/0","pairs":[{"key":"k","value":"v"}]}`,
		`"other":"shop:peers","in-scope":false,"bags":[{"of":"shop/0"},{"of":"shop"}]`,
		`"options":[{"name":"a","type":"string","value":null},{"name":"z","type":"int","value":1,"set":true}]`,
		`"actions":[{"name":"dump","description":"d"}]`, `"id":"mine"`, `"id":"ours"`,
		`{"id":"given","owner":"ledger","revision":1,"description":"a word","granted":["bank","shop"]}`, `{"id":"added","owner":"the model","revision":1,"granted":["shop"]}`, `"state":[{"key":"k","value":"v"}]`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the detail has no %s:\n%s", want, b)
		}
	}
	if strings.Contains(string(b), "theirs") {
		t.Error("it has another unit's secret")
	}
}

func TestAPageInAFileHoldsAllOfItself(t *testing.T) {
	t.Parallel()
	b, err := page.Static("a <b> & c", []page.World{{
		Name: "first", Parts: encode(t, page.Of(status())), Lines: []debuglog.Entry{{Message: "</script><script>alert(1)</script>"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := string(b)
	for _, no := range []string{"alert(1)</script>", "/files/", "http://", "https://", "<!--scripts-->", "<!--style-->"} {
		if strings.Contains(strings.ReplaceAll(s, "http://www.w3.org/2000/svg", ""), no) {
			t.Errorf("it has %q", no)
		}
	}
	if !strings.Contains(s, "<title>a &lt;b&gt; &amp; c</title>") || !strings.Contains(s, "Content-Security-Policy") || strings.Count(s, "<script") != strings.Count(s, "</script>") {
		t.Errorf("it is %.300s", s)
	}
}

// TestTheLivePageIsOneDocument: a browser that has the page has all of it, and runs what is
// in it and nothing else.
func TestTheLivePageIsOneDocument(t *testing.T) {
	t.Parallel()
	b, policy := page.Index(false)
	index := string(b)
	if writes, _ := page.Index(true); strings.Contains(index, `data-write="true"`) || !strings.Contains(string(writes), `data-write="true"`) {
		t.Error("whether it changes something isn't as it was asked for")
	}
	if strings.Contains(index, "<!--") || strings.Contains(index, " src=") || strings.Contains(index, `rel="stylesheet"`) || strings.Contains(policy, "unsafe") {
		t.Errorf("it isn't whole, or its policy is %s", policy)
	}
	inside := regexp.MustCompile(`(?s)<(script|style)>(.*?)</(?:script|style)>`).FindAllStringSubmatch(index, -1)
	for _, m := range inside {
		sum := sha256.Sum256([]byte(m[2]))
		if !strings.Contains(policy, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
			t.Errorf("a browser wouldn't take a %s: %.60q", m[1], m[2])
		}
	}
	if want := strings.Count(policy, "'sha256-"); len(inside) != want || want < 6 {
		t.Errorf("it has %d scripts and styles, and its policy lets %d through", len(inside), want)
	}
}

// TestAPlainDocumentIsWhole: its colours follow its reader's system, and a browser takes its style
// and its script, and no other.
func TestAPlainDocumentIsWhole(t *testing.T) {
	t.Parallel()
	s := string(page.Plain("a <b> & c", "p { margin: 0; }\n", "'use strict';\n", []byte("<p>hello</p>\n")))
	for _, want := range []string{"<title>a &lt;b&gt; &amp; c</title>", "<p>hello</p>", "p { margin: 0; }", "@media (prefers-color-scheme: dark) {\n:root {", "--back: #11151b", "default-src 'none'"} {
		if !strings.Contains(s, want) {
			t.Errorf("it has no %s", want)
		}
	}
	if strings.Contains(s, "data-theme") || strings.Contains(s, "#timeline") {
		t.Error("it has what is the live page's")
	}
	for _, m := range regexp.MustCompile(`(?s)<(script|style)>(.*?)</(?:script|style)>`).FindAllStringSubmatch(s, -1) {
		sum := sha256.Sum256([]byte(m[2]))
		if !strings.Contains(s, m[1]+"-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
			t.Errorf("a browser wouldn't take a %s: %.60q", m[1], m[2])
		}
	}
}

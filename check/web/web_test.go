package web_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/check"
	"github.com/unitd/unitd/check/web"
)

// finding is one that a check may have.
func finding(promise, cause string) check.Finding {
	return check.Finding{
		Promise: promise, What: "config-changed: ValueError: " + cause, Why: "shop/0: hook failed\n  " + cause, Cause: cause,
		Steps: []string{"deploy $SCRIPT_DIR/.. shop", "config shop port=65536", "settle"}, Failed: 4, Tried: 4, File: "src/charm.py", Line: 280,
	}
}

// report is one with all that a page shows: a finding that fails now and then and breaks two
// promises, and another.
func report() *check.Report {
	flaky := finding(check.Killed, "half")
	flaky.Failed, flaky.Also = 3, []string{check.Twice}
	return &check.Report{
		Charm: "shop", Seed: 7, Took: 61 * time.Second, Walks: 3,
		Tried: map[string]int{check.Killed: 12, check.Twice: 2, check.WrongConfig: 5, check.Settles: 1, check.Upgrade: 2},
		Left:  map[string]int{check.Upgrade: 4},
		Met:   []string{"install", "db-relation-joined"}, NotMet: []string{"secret-rotate"},
		Meetings: check.Meetings{
			Met: 3, Wanted: 4, Missing: []check.Meeting{{Hook: "db-relation-joined", Endpoint: "web", State: check.None}},
			Ran: []check.Ran{
				{Endpoint: "db", State: check.None, Hooks: []string{"install"}}, {Endpoint: "db", State: check.Gone, Hooks: []string{"install"}},
				{Endpoint: "web", State: check.None, Hooks: []string{"install"}},
			},
		},
		World:    []check.Origin{{Endpoint: "db", Source: check.Schemed, Keys: 2}, {Endpoint: "db", Source: check.Guessed, Keys: 1}, {Endpoint: "web"}},
		Findings: []check.Finding{flaky, finding(check.WrongConfig, "port")},
		Odd:      []string{"killed: settle: the world has ended"},

		Placeholders: []string{"data (an empty file)"},
		Costs:        []check.Cost{{Hook: "install", Runs: 31, Usual: 1234567 * time.Microsecond, Longest: 9 * time.Second, Calls: 8, Most: 17}},
	}
}

// document is what is in a page or a badge.
type document struct {
	text  string
	count map[string]int // of elements, by their names
	ids   []string
	to    []string // what links lead to
	names []string // of attributes
}

// parse reads a document, as strictly as XML is read.
func parse(t *testing.T, b []byte) (d document) {
	t.Helper()
	d.count = map[string]int{}
	var text strings.Builder
	for in := xml.NewDecoder(bytes.NewReader(b)); ; {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, b)
		}
		switch token := token.(type) {
		case xml.CharData:
			text.Write(token)
		case xml.StartElement:
			d.count[token.Name.Local]++
			for _, a := range token.Attr {
				d.names = append(d.names, a.Name.Local)
				switch a.Name.Local {
				case "id":
					d.ids = append(d.ids, a.Value)
				case "href":
					d.to = append(d.to, a.Value)
				}
			}
		}
	}
	d.text = text.String()
	return d
}

// has says which of some texts aren't in another, whatever space is between words.
func has(t *testing.T, text string, wanted ...string) {
	t.Helper()
	text = strings.Join(strings.Fields(text), " ")
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("it doesn't say %q", want)
		}
	}
}

func TestThePageTellsAllOfTheReport(t *testing.T) {
	t.Parallel()
	d := parse(t, web.Page(report(), web.About{Version: "1.2.3"}))
	has(t, d.text,
		"unitd check: shop", "2 findings: 3 promises are broken; 1 promise is kept as far as 22 scenarios and 3 walks can show; 1 promise was not tried to the end.",
		"install311.235s9s817", "Placeholders These resources weren't given. Give them with --resource. data (an empty file)",
		"Seed7", "Time1m1s", "unitd1.2.3", "Scenarios22", "Walks3",
		"1. config-changed: ValueError: half", "Breakskilled, twice", "Atsrc/charm.py:280", "Fails3 of 4 times: flaky", "Fails4 of 4 times",
		"A hook may be killed at any moment. What a killed hook wrote",
		`# killed: config-changed: ValueError: half # unitd check has found this; "unitd check --explain killed"`, "config shop port=65536 settle",
		`unitd.do("config", "shop", "port=65536")`, "shop/0: hook failed half",
		"broken: finding 1What", "broken: finding 2A hook", "✓ kept as far as 1 scenario can show", "◐ not tried to the end: 4 of 6 scenarios are left", "– nothing to try",
		"Raninstall, db-relation-joined", "Never ransecret-rotate", "Of 4 pairs of a hook or an action and a state of an endpoint, the check covered 3.",
		"db-relation-joined–isn't counted–isn't counted○never ran", "install✓ran✓ran✓ran",
		"dbits schema (2 keys) and guesses (1 key)", "webnothing published", "killed: settle: the world has ended",
	)
	ids := slices.Sorted(slices.Values(d.ids))
	if len(slices.Compact(ids)) != len(d.ids) {
		t.Errorf("two have one id: %q", d.ids)
	}
	for _, to := range d.to {
		if id, ok := strings.CutPrefix(to, "#"); ok && !slices.Contains(d.ids, id) {
			t.Errorf("a link leads nowhere: %s", to)
		}
	}
}

// TestThePageAsksForNothing: no network, and nothing runs that isn't its own.
func TestThePageAsksForNothing(t *testing.T) {
	t.Parallel()
	b := web.Page(report(), web.About{})
	if found := regexp.MustCompile(`(https?:)?//[a-z]|url\(|@import| src=`).Find(b); found != nil {
		t.Errorf("it has %s", found)
	}
	has(t, string(b), "default-src 'none'", "prefers-color-scheme: dark")
}

// TestTextStaysText: whatever a charm says, and wherever.
func TestTextStaysText(t *testing.T) {
	t.Parallel()
	const evil = `<script>alert(1)</script>"'&amp;` + "\x1b[31m\x00\xff"
	const shown = `<script>alert(1)</script>"'&amp;` + "\ufffd[31m\ufffd\ufffd"
	fields := 0
	say := func() string { fields++; return fmt.Sprintf("field-%d %s", fields, evil) }
	r := report()
	r.Charm = say()
	f := &r.Findings[0]
	f.Promise, f.What, f.Why, f.File, f.Also, f.Steps = say(), say(), say(), say(), []string{say()}, []string{say()}
	r.Met, r.NotMet, r.Odd = []string{say()}, []string{say()}, []string{say()}
	r.World[0].Endpoint = say()
	r.Meetings.Ran[0].Endpoint = say()
	r.Meetings.Ran[0].Hooks = []string{say()}
	r.Meetings.Missing[0].Hook = say()
	harmless, d := parse(t, web.Page(report(), web.About{})), parse(t, web.Page(r, web.About{Version: say()}))
	for n := range fields {
		has(t, d.text, fmt.Sprintf("field-%d %s", n+1, shown))
	}
	if d.count["script"] != 1 || d.count["img"] != 0 {
		t.Errorf("it has elements that it shouldn't have: %v", d.count)
	}
	for _, name := range d.names {
		if !slices.Contains(harmless.names, name) {
			t.Errorf("an element has %q", name)
		}
	}
	badge := parse(t, web.Badge(r))
	has(t, badge.text, "field-1 "+shown)
	if badge.count["script"] != 0 {
		t.Errorf("the badge has elements that it shouldn't have: %v", badge.count)
	}
}

// TestTheResult in words and as a badge, by what there is in the report.
func TestTheResult(t *testing.T) {
	t.Parallel()
	const green, red, brown, grey = "#1a7f37", "#c11c28", "#8a5a00", "#5c6675"
	all := func(n int) map[string]int {
		tried := map[string]int{}
		for _, p := range check.Promises()[:n] {
			tried[p.Name] = 2
		}
		return tried
	}
	one, two := finding(check.Killed, "a"), finding(check.Twice, "b")
	for name, c := range map[string]struct {
		r                      check.Report
		sentence, badge, paint string
	}{
		"all are kept":           {check.Report{Tried: all(21)}, "✓ No findings: 21 promises are kept as far as 42 scenarios can show.", "21 promises kept", green},
		"one is kept":            {check.Report{Tried: all(1), Walks: 1}, "✓ No findings: 1 promise is kept as far as 2 scenarios and 1 walk can show.", "1 promise kept", green},
		"one is broken":          {check.Report{Tried: all(3), Findings: []check.Finding{one}}, "✗ 1 finding: 1 promise is broken; 3 promises are kept", "1 finding", red},
		"findings of all kinds":  {check.Report{Findings: []check.Finding{one}, Known: []check.Finding{two}}, "✗ 1 new finding, 1 known: 2 promises are broken.", "1 new finding, 1 known", red},
		"what is known is no ✓":  {check.Report{Tried: all(3), Known: []check.Finding{one, two}}, "◐ 2 known findings: 2 promises are broken", "2 known findings", brown},
		"there was no time":      {check.Report{Tried: all(1), Left: all(2)}, "◐ No findings: 2 promises were not tried to the end.", "not tried to the end", brown},
		"nothing was to be done": {check.Report{}, "– No findings: nothing was tried.", "nothing tried", grey},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.r.Charm = "shop"
			has(t, parse(t, web.Page(&c.r, web.About{})).text, c.sentence)
			badge := string(web.Badge(&c.r))
			has(t, badge, "<title>unitd check of shop: "+c.badge+"</title>", ">"+c.badge+"</text>", `fill="`+c.paint+`"`)
			if d := parse(t, []byte(badge)); d.count["title"] != 1 || d.count["text"] != 2 {
				t.Errorf("the badge has %v", d.count)
			}
		})
	}
}

// TestWhatIsKnownIsMarked, and comes after what is new.
func TestWhatIsKnownIsMarked(t *testing.T) {
	t.Parallel()
	r := report().New(check.Report{Findings: []check.Finding{{Cause: "half"}}})
	has(t, parse(t, web.Page(r, web.About{})).text, "1. config-changed: ValueError: port", "2. config-changed: ValueError: half",
		"Knownan earlier report, the baseline, has it too", "broken: finding 2 (known)", "broken: finding 1A")
}

// TestABadgeIsAsWideAsItsText: more text takes more room, and boxes don't overlap.
func TestABadgeIsAsWideAsItsText(t *testing.T) {
	t.Parallel()
	width := func(r *check.Report) string {
		return regexp.MustCompile(` width="(\d+)" height="20" viewBox`).FindStringSubmatch(string(web.Badge(r)))[1]
	}
	short, long := &check.Report{Findings: []check.Finding{{}}}, &check.Report{Findings: []check.Finding{{}}, Known: []check.Finding{{}}}
	if a, b := width(short), width(long); len(a) > len(b) || len(a) == len(b) && a >= b {
		t.Errorf("%s and %s pixels", a, b)
	}
}

func TestManyFindings(t *testing.T) {
	t.Parallel()
	r := report()
	for i := range 200 {
		r.Findings = append(r.Findings, finding(check.Settles, fmt.Sprint(i)))
	}
	d := parse(t, web.Page(r, web.About{}))
	if d.count["article"] != 202 {
		t.Errorf("it has %d findings", d.count["article"])
	}
	has(t, d.text, "broken: finding 3, finding 4,", "finding 202If what hooks write")
}

// TestTheTableOfMeetingsHasHeads: each head says of what it is one.
func TestTheTableOfMeetingsHasHeads(t *testing.T) {
	t.Parallel()
	b := web.Page(report(), web.About{})
	has(t, string(b), `<colgroup></colgroup><colgroup span="2"></colgroup><colgroup span="1"></colgroup>`, `<th scope="col" rowspan="2">Hook</th>`,
		`<th scope="colgroup" colspan="2" class="first">db</th><th scope="colgroup" colspan="1" class="first">web</th>`,
		`<th scope="col" class="first">none</th><th scope="col">gone</th>`, `<th scope="row">install</th>`)
	without := report()
	without.Meetings = check.Meetings{}
	has(t, parse(t, web.Page(without, web.About{})).text, "Nothing was counted")
}

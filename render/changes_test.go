package render_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// changed is a log in which each thing that can be done is done once.
var changed = []state.Logged{{
	Number: 7, Time: time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC), More: 2,
	Author: state.Author{User: "ann as root", Host: "laptop", Command: "unitd config web text=\"a\x1b[2J\""},
	Changes: []state.LoggedField{
		{Kind: "application", Name: "web", Did: state.DidAdd},
		{Kind: "unit", Name: "web/0", Did: state.DidRemove},
		{Kind: "application", Name: "web", Field: "size", Did: state.DidSet, Before: "1", After: "2"},
		{Kind: "application", Name: "web", Field: "text", Did: state.DidSet, After: `"a…`},
		{Kind: "model", Field: "constraints", Did: state.DidSet, Before: `"mem=1G"`},
	},
}}

func TestChanges(t *testing.T) {
	t.Parallel()
	const want = `2026-03-03 09:00:00Z  ann as root@laptop  unitd config web text="a [2J"
    application web: added
    unit web/0: removed
    application web, size: 1 → 2
    application web, text: set to "a…
    model, constraints: "mem=1G" is no longer set
    and 2 more
`
	if got := render.Changes(changed, true, false); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	const list = `[{"number":7,"time":"2026-03-03T09:00:00Z","user":"ann as root","host":"laptop","command":"unitd config web text=\"a\u001b[2J\"","changes":[` +
		`{"kind":"application","name":"web","did":"added"},{"kind":"unit","name":"web/0","did":"removed"},` +
		`{"kind":"application","name":"web","field":"size","did":"set","before":1,"after":2},` +
		`{"kind":"application","name":"web","field":"text","did":"set","after":"\"a…"},` +
		`{"kind":"model","field":"constraints","did":"set","before":"mem=1G"}],"more":2}]`
	if got, err := json.Marshal(render.ChangesOf(changed)); err != nil || string(got) != list {
		t.Errorf("got\n%s, %v\nwant\n%s", got, err, list)
	}
}

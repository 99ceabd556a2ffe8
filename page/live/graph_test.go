package live_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/juju/clock"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/page/browser"
	"github.com/unitd/unitd/state"
)

// deploys deploys an application of a charm that has these endpoints.
func (w *world) deploys(m *state.Model, c model.Charm, units int) {
	w.Helper()
	sum := sha256.Sum256([]byte(c.Name))
	url, err := m.AddCharm(w.ctx, c, hex.EncodeToString(sum[:]), strings.NewReader(c.Name))
	w.ok(err)
	w.ok(m.Deploy(w.ctx, state.DeployArgs{Application: c.Name, Charm: url, Units: units}))
}

// relates relates two applications.
func (w *world) relates(a, b string) model.RelationID {
	w.Helper()
	r, err := w.model.AddRelation(w.ctx, a, b)
	w.ok(err)
	return r.ID
}

// TestHostTheGraphShowsEachKindOfApplicationAndRelation: peers, subordinates, containers, and
// what is of another model; a run's cause has an arrow.
func TestHostTheGraphShowsEachKindOfApplicationAndRelation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pg := model.CharmRel{Interface: "pg", Scope: model.Global}
	provides, requires := pg, pg
	provides.Role, requires.Role = model.Provider, model.Requirer
	db := model.Charm{Name: "db", Endpoints: map[string]model.CharmRel{"db": provides}}
	abroad, err := state.NewController(w.store, clock.WallClock).AddModel(w.ctx, "abroad")
	w.ok(err)
	w.deploys(abroad, db, 1)
	_, err = abroad.Offer(w.ctx, "db", []string{"db"}, "")
	w.ok(err)
	w.deploys(w.model, db, 1)
	w.deploys(w.model, model.Charm{Name: "web", Endpoints: map[string]model.CharmRel{
		"near": requires, "far": requires, "ring": {Role: model.Peer, Interface: "ring", Scope: model.Global},
	}, Containers: map[string]model.ContainerSpec{"nginx": {Resource: "image"}}, Resources: map[string]model.ResourceSpec{"image": {Type: model.OCIImage}}}, 2)
	w.deploys(w.model, model.Charm{Name: "logs", Subordinate: true, Endpoints: map[string]model.CharmRel{
		"host": {Role: model.Requirer, Interface: model.JujuInfo, Scope: model.Container},
	}}, 0)
	_, err = w.model.Consume(w.ctx, abroad, model.OfferURL{Controller: "unitd", Owner: "admin", Model: "abroad", Offer: "db"}, "fardb")
	w.ok(err)
	near := w.relates("web:near", "db")
	w.relates("web:far", "fardb")
	w.relates("logs", "web")
	w.append("db/0", 1, func(e *history.Entry) {
		e.Rev, e.Written = 5, history.Written{Databags: 1, Bags: []model.RelationID{near}}
	})
	w.append("web/0", 1, func(e *history.Entry) {
		e.Seen, e.Hook = 6, hooks.Info{Kind: hooks.RelationChanged, Endpoint: "near", RelationID: near, RemoteApp: "db", RemoteUnit: "db/0"}
	})

	p := browser.Start(t, 1400, 900)
	p.Open(w.base + "/#token=" + token)
	for _, key := range []string{"app/shop", "app/db", "app/web", "app/logs", "saas/fardb"} {
		p.Wait(fmt.Sprintf(`document.querySelector('.node[data-key=%q]')`, key))
	}
	for key, text := range map[string]string{"app/web": "· peers · 1 container", "app/logs": "· subordinate", "saas/fardb": "of another model"} {
		p.Wait(fmt.Sprintf(`document.querySelector('.node[data-key=%q]').textContent.includes(%q)`, key, text))
	}
	kinds := map[string]int{}
	p.Wait(`document.querySelectorAll('.edge').length === 3`)
	var classes []string
	p.Eval(`[...document.querySelectorAll('.edge')].map(e => e.getAttribute('class'))`, &classes)
	for _, c := range classes {
		kinds[c]++
	}
	if want := map[string]int{"edge": 1, "edge container": 1, "edge across": 1}; !maps.Equal(kinds, want) {
		t.Errorf("the relations are %v, want %v", kinds, want)
	}
	p.Eval(`U.choose('saas/fardb')`, nil)
	side(p, "admin/abroad.db")
	accessible(t, p, "the graph")
	shot(t, p, "graph")

	// Without its arrow the timeline has other pixels, and by itself always the same.
	click(p, "Timeline")
	p.Wait(`U.cause(U.runs.get('web/0')[0])?.unit === 'db/0'`)
	p.Eval(`document.getElementById('ordered').checked || document.getElementById('ordered').click()`, nil)
	p.Eval(`window.still = 0; setInterval(() => {
		const now = [...document.querySelector('canvas').toDataURL()].reduce((sum, x) => (sum * 31 + x.charCodeAt(0)) % 1000000007, 0);
		window.still = now === window.pixels ? window.still + 1 : 0;
		window.pixels = now;
	}, 50); true`, nil)
	p.Wait(`still > 3 && (window.without = pixels)`)
	p.Eval(`document.getElementById('arrows').click()`, nil)
	p.Wait(`still > 3 && pixels !== without`)
	p.Eval(`document.getElementById('arrows').click()`, nil)
	p.Wait(`still > 3 && pixels === without`)
	if faults := p.Faults(); len(faults) > 0 {
		t.Errorf("the browser complains: %q", faults)
	}
}

// append appends a committed run to a history.
func (w *world) append(unit model.UnitName, run int64, change func(*history.Entry)) {
	w.Helper()
	e := history.Entry{
		Unit: unit, Run: run, Hook: hooks.Info{Kind: hooks.Install, RelationID: model.NoRelation}, Outcome: history.Committed,
		Started: time.Now().Add(-time.Minute), Duration: time.Second,
	}
	change(&e)
	w.ok(history.Append(durable.Disk{}, machine.HistoryDir(w.dir, w.model.UUID()), e))
}

package history_test

import (
	"testing"
	"time"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// ran is a run that has committed, a second long, so many seconds after the first.
func ran(unit model.UnitName, run int64, at int, h hooks.Info, w history.Written) history.Entry {
	started := time.Date(2026, 3, 3, 9, 0, at, 0, time.UTC)
	return history.Entry{Unit: unit, Run: run, Hook: h, Outcome: history.Committed, Started: started, Duration: time.Second, Written: w}
}

func TestAHookFollowsFromTheLastCommitThatItTellsOf(t *testing.T) {
	t.Parallel()
	changed := func(remote model.UnitName) hooks.Info {
		return hooks.Info{Kind: hooks.RelationChanged, RelationID: 3, RemoteUnit: remote, RemoteApp: "db"}
	}
	bag := history.Written{Databags: 4, Bags: []model.RelationID{3}}
	own := history.Written{Databags: 4, AppBags: []model.RelationID{3}}
	failed := ran("db/0", 4, 8, hooks.Info{Kind: hooks.UpdateStatus}, bag)
	failed.Outcome = history.Failed
	var c history.Causes
	for _, e := range []history.Entry{
		ran("db/0", 3, 6, hooks.Info{Kind: hooks.ConfigChanged}, bag), // the order doesn't matter
		ran("db/0", 2, 2, hooks.Info{Kind: hooks.Start}, bag),
		failed,
		ran("db/0", 5, 9, hooks.Info{Kind: hooks.UpdateStatus}, history.Written{Databags: 4, Bags: []model.RelationID{4}}),
		ran("db/1", 7, 4, hooks.Info{Kind: hooks.Start}, bag),
		ran("db/1", 6, 1, hooks.Info{Kind: hooks.LeaderElected}, own),
		ran("shop/0", 8, 7, hooks.Info{Kind: hooks.Start}, history.Written{Leader: 2, Databags: 1, Bags: []model.RelationID{3}}),
		ran("shop/1", 9, 3, hooks.Info{Kind: hooks.Start}, history.Written{Secrets: []model.SecretID{"s"}}),
	} {
		c.Note(e)
	}
	// With revisions, the clocks don't matter.
	at := func(e history.Entry, seen, rev int64) history.Entry { e.Seen, e.Rev = seen, rev; return e }
	started := hooks.Info{Kind: hooks.Start}
	c.Note(at(ran("web/0", 2, 9, started, bag), 40, 50))
	c.Note(at(ran("web/0", 3, 1, started, bag), 55, 60))
	web := func(seen int64) history.Entry {
		return at(ran("db/1", 8, 5, changed("web/0"), history.Written{}), seen, 90)
	}
	for name, test := range map[string]struct {
		of   history.Entry
		want history.Ref
	}{
		"the last of the remote unit":      {ran("shop/0", 9, 20, changed("db/0"), history.Written{}), history.Ref{Unit: "db/0", Run: 3}},
		"of that which had ended":          {ran("shop/0", 9, 5, changed("db/0"), history.Written{}), history.Ref{Unit: "db/0", Run: 2}},
		"none that ended later":            {ran("shop/0", 9, 2, changed("db/0"), history.Written{}), history.Ref{}},
		"of another unit":                  {ran("shop/0", 9, 20, changed("db/1"), history.Written{}), history.Ref{Unit: "db/1", Run: 7}},
		"of who wrote the application's":   {ran("shop/0", 9, 20, changed(""), history.Written{}), history.Ref{Unit: "db/1", Run: 6}},
		"joined":                           {ran("shop/0", 9, 20, hooks.Info{Kind: hooks.RelationJoined, RelationID: 3, RemoteUnit: "db/1"}, history.Written{}), history.Ref{Unit: "db/1", Run: 7}},
		"departed follows from no commit":  {ran("shop/0", 9, 20, hooks.Info{Kind: hooks.RelationDeparted, RelationID: 3, RemoteUnit: "db/1"}, history.Written{}), history.Ref{}},
		"leader settings":                  {ran("shop/1", 9, 20, hooks.Info{Kind: hooks.LeaderSettingsChanged}, history.Written{}), history.Ref{Unit: "shop/0", Run: 8}},
		"leader settings of another":       {ran("db/1", 9, 20, hooks.Info{Kind: hooks.LeaderSettingsChanged}, history.Written{}), history.Ref{}},
		"not from what it has written":     {ran("shop/0", 9, 20, hooks.Info{Kind: hooks.LeaderSettingsChanged}, history.Written{}), history.Ref{}},
		"a secret":                         {ran("db/0", 9, 20, hooks.Info{Kind: hooks.SecretChanged, Secret: "s"}, history.Written{}), history.Ref{Unit: "shop/1", Run: 9}},
		"configuration, which people set":  {ran("db/0", 9, 20, hooks.Info{Kind: hooks.ConfigChanged}, history.Written{}), history.Ref{}},
		"a relation that nobody has fed":   {ran("db/0", 9, 20, hooks.Info{Kind: hooks.RelationChanged, RelationID: 9, RemoteUnit: "shop/0"}, history.Written{}), history.Ref{}},
		"by revisions, the newest":         {web(60), history.Ref{Unit: "web/0", Run: 3}},
		"by revisions, one that was seen":  {web(59), history.Ref{Unit: "web/0", Run: 2}},
		"by revisions, none":               {web(49), history.Ref{}},
		"a secret that nobody has written": {ran("db/0", 9, 20, hooks.Info{Kind: hooks.SecretChanged, Secret: "x"}, history.Written{}), history.Ref{}},
	} {
		got, found := c.Of(test.of)
		if got != test.want || found != (test.want.Run != 0) {
			t.Errorf("%s: follows from %v, want %v", name, got, test.want)
		}
	}
}

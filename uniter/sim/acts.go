package sim

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/relation"
	"github.com/unitd/unitd/uniter/resolver"
)

// act is one line of the table of what can happen to the model. It says whether
// it could happen now.
type act struct {
	usage string
	do    func(w *World, args []string) (bool, error)
}

// Acts are the words that Act takes, with their arguments: the language of
// scenarios. RELATION is "endpoint:id".
func Acts() []string {
	var usages []string
	for _, a := range acts() {
		usages = append(usages, a.usage)
	}
	return usages
}

func acts() []act {
	return append(workloadActs(), []act{
		{"config VALUE", config},
		{"charm URL", func(w *World, a []string) (bool, error) { return w.setCharm(a[0], false), nil }},
		{"force-charm URL", func(w *World, a []string) (bool, error) { return w.setCharm(a[0], true), nil }},
		{"resources", func(w *World, _ []string) (bool, error) { w.Model.Want.Resources++; return true, nil }},
		{"lead", lead(true)},
		{"depose", lead(false)},
		{"leader-settings", leaderSettings},
		{"relate RELATION APPLICATION", relate},
		{"unrelate RELATION", unrelate},
		{"vanish RELATION", vanish},
		{"suspend RELATION", onRelation(func(w *World, s *relation.Snapshot, _ string) { s.Live = false })},
		{"resume RELATION", onRelation(func(w *World, s *relation.Snapshot, _ string) { s.Live = !w.isEnding(s.ID) })},
		{"hold RELATION", onRelation(func(_ *World, s *relation.Snapshot, _ string) { s.NotYet = !s.InScope })},
		{"let RELATION", onRelation(func(_ *World, s *relation.Snapshot, _ string) { s.NotYet = false })},
		{"join RELATION UNIT", onRelation(join)},
		{"write RELATION UNIT-OR-APPLICATION", onRelation(write)},
		{"leave RELATION UNIT", onRelation(leave)},
		{"destroy", destroy},
		{"orphan", func(w *World, _ []string) (bool, error) { w.Model.Orphaned = true; return true, nil }},
		{"force-dead", func(w *World, _ []string) (bool, error) { w.Model.Life, w.forced = model.Dead, true; return true, nil }},
		{"gone", func(w *World, _ []string) (bool, error) { w.Model.Gone, w.forced = true, true; return true, nil }},
		{"subordinate UNIT", subordinate},
		{"subordinate-gone", func(w *World, _ []string) (bool, error) { w.Model.Subordinates = nil; return true, nil }},
		{"storage ID", addStorage(true)},
		{"add-storage ID", addStorage(false)},
		{"provide ID", onStorage(func(s *resolver.Storage) { s.Ready, s.Location = true, "/srv/"+string(s.ID) })},
		{"move ID", onStorage(func(s *resolver.Storage) { s.Location += "x" })},
		{"lose ID", onStorage(func(s *resolver.Storage) { s.Ready = false })},
		{"detach ID", onStorage(func(s *resolver.Storage) { s.Going = true })},
		{"vanish-storage ID", vanishStorage},
		{"resolved", resolve(resolver.RunAgain)},
		{"resolved-no-retry", resolve(resolver.SkipIt)},
		{"retry", func(w *World, _ []string) (bool, error) { w.Model.Retry = true; return true, nil }},
		{"ask-task", ask},
		{"cancel-task", drop},
		{"ask-again", askAgain},
		{"status-interval DURATION", statusInterval},
		{"wait DURATION", wait},
		{"lose-disk", loseDisk(true)},
		{"lose-journal", loseDisk(false)},
		{"lose-record", func(w *World, _ []string) (bool, error) { return w.loseRecord(), nil }},
		{"reboot", reboot},
		{"lose-charm", func(w *World, _ []string) (bool, error) { w.Dir = ""; w.Kill(); return true, nil }},
	}...)
}

// Act makes one thing happen, as "join db:1 mysql/0". It says whether it could
// happen now: nobody joins a relation that is gone. The error is NotValid for
// what is none of Acts.
func (w *World) Act(line string) (bool, error) {
	words := strings.Fields(line)
	for _, a := range acts() {
		usage := strings.Fields(a.usage)
		if len(words) == len(usage) && words[0] == usage[0] {
			ok, err := a.do(w, words[1:])
			return ok, errors.Annotatef(err, "cannot %s", line)
		}
	}
	return false, errors.NotValidf("act %q", line)
}

func config(w *World, args []string) (_ bool, err error) {
	w.setting, err = strconv.Atoi(args[0])
	w.configure()
	return true, errors.Trace(err)
}

func (w *World) setCharm(url string, forced bool) bool {
	w.Model.Charm, w.Model.Forced = url, forced
	w.configure()
	return true
}

func lead(leader bool) func(*World, []string) (bool, error) {
	return func(w *World, _ []string) (bool, error) {
		w.Model.Leader = leader
		return true, nil
	}
}

func leaderSettings(w *World, _ []string) (bool, error) {
	w.Model.Want.LeaderSettings++
	return true, nil
}

func parseRelation(ref string) (string, model.RelationID, error) {
	endpoint, num, _ := strings.Cut(ref, ":")
	id, err := strconv.Atoi(num)
	if err != nil {
		return "", 0, errors.NotValidf("relation %q", ref)
	}
	return endpoint, model.RelationID(id), nil
}

func relate(w *World, args []string) (bool, error) {
	endpoint, id, err := parseRelation(args[0])
	if err != nil {
		return false, err
	}
	rels := append(slices.Clone(w.Model.Relations), relation.Snapshot{
		ID: id, Endpoint: endpoint, RemoteApp: args[1], Live: true,
		Peer: args[1] == w.Local.Unit.Application(), Implicit: endpoint == model.JujuInfo,
	})
	slices.SortFunc(rels, func(a, b relation.Snapshot) int {
		return cmp.Or(strings.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.ID, b.ID))
	})
	w.Model.Relations = rels
	return true, nil
}

func onRelation(change func(w *World, s *relation.Snapshot, who string)) func(*World, []string) (bool, error) {
	return func(w *World, args []string) (bool, error) {
		_, id, err := parseRelation(args[0])
		if err != nil {
			return false, err
		}
		who := ""
		if len(args) > 1 {
			who = args[1]
		}
		return w.edit(id, func(s *relation.Snapshot) { change(w, s, who) }), nil
	}
}

func unrelate(w *World, args []string) (bool, error) {
	_, id, err := parseRelation(args[0])
	if err != nil || w.isEnding(id) {
		return false, err
	}
	w.ending += strconv.Itoa(int(id)) + ","
	return w.edit(id, func(s *relation.Snapshot) { s.Live = false }), nil
}

func vanish(w *World, args []string) (bool, error) {
	_, id, err := parseRelation(args[0])
	had := len(w.Model.Relations)
	w.Model.Relations = slices.DeleteFunc(slices.Clone(w.Model.Relations), func(s relation.Snapshot) bool { return s.ID == id })
	return len(w.Model.Relations) < had, err
}

// join lets a unit in; one that was in before comes with a newer version.
func join(w *World, s *relation.Snapshot, who string) {
	unit := model.UnitName(who)
	if _, in := s.Members.Version(unit); !in && s.Live {
		s.Members = s.Members.With(unit, 1)
	}
}

func write(_ *World, s *relation.Snapshot, who string) {
	if who == s.RemoteApp {
		s.Application++
	}
	if v, in := s.Members.Version(model.UnitName(who)); in {
		s.Members = s.Members.With(model.UnitName(who), v+1)
	}
}

func leave(_ *World, s *relation.Snapshot, who string) {
	s.Members = s.Members.Without(model.UnitName(who))
}

func destroy(w *World, _ []string) (bool, error) {
	w.die()
	return true, nil
}

func subordinate(w *World, args []string) (bool, error) {
	w.Model.Subordinates = append(slices.Clone(w.Model.Subordinates), model.UnitName(args[0]))
	return true, nil
}

// resolve answers the failed run, as the operator sees it.
func resolve(mode resolver.Mode) func(*World, []string) (bool, error) {
	return func(w *World, _ []string) (bool, error) {
		c := w.Local.Current
		if c == nil || c.Step != resolver.Failed || w.Model.Resolved.Run == c.Run {
			return false, nil
		}
		w.Model.Resolved = resolver.Resolved{Run: c.Run, Mode: mode}
		return true, nil
	}
}

func statusInterval(w *World, args []string) (_ bool, err error) {
	w.Model.StatusInterval, err = time.ParseDuration(args[0])
	return true, errors.Trace(err)
}

// reboot ends the agent as a kill does, and starts it on another boot.
func reboot(w *World, _ []string) (bool, error) {
	w.Model.Want.Boot += "'"
	w.Kill()
	return true, nil
}

func wait(w *World, args []string) (bool, error) {
	d, err := time.ParseDuration(args[0])
	w.Model.Now = w.Model.Now.Add(d)
	return true, errors.Trace(err)
}

// loseDisk loses the journal, and the charm with it or not.
func loseDisk(charmToo bool) func(*World, []string) (bool, error) {
	return func(w *World, _ []string) (bool, error) {
		w.Disk = resolver.New(w.Disk.Unit)
		w.Former, w.lost = w.Disk, true
		if w.charm.url != "" {
			w.charm.url = lost
		}
		if charmToo {
			w.Dir = ""
		}
		w.Kill()
		return true, nil
	}
}

// loseRecord loses the newest record of the journal, as by a damaged disk. What
// can be told from the record before it and the model is only what committed:
// a failure, or an answer to one, is lost.
func (w *World) loseRecord() bool {
	whole := func(l resolver.Local) bool {
		return l.Current == nil || l.Current.Step == resolver.Pending && l.Current.Run <= w.Model.Committed
	}
	again := w.Disk.Current != nil && w.Former.Current != nil && w.Former.Current.Step == resolver.Failed
	if !whole(w.Disk) || !whole(w.Former) && !again {
		return false
	}
	w.Disk = w.Former
	w.Kill()
	return true
}

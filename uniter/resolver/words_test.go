package resolver_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/relation"
	"github.com/unitd/unitd/uniter/resolver"
)

// situation makes what the words say.
func situation(t *testing.T, words string) (resolver.Local, resolver.Remote) {
	t.Helper()
	l := resolver.New(self)
	l.Relations = map[model.RelationID]relation.State{}
	l.StatusAt = noon
	r := resolver.Remote{Now: noon, Charm: "ch:1", Settings: "1", Want: resolver.Seen{Config: "1"}}
	for _, word := range strings.Fields(words) {
		word, about, _ := strings.Cut(word, ":")
		if !workloadWord(&l, &r, word, about) && !localWord(&l, word, about) && !remoteWord(&r, word, about) && !relationWord(&l, &r, word, about) && !storageWord(&l, &r, word, about) {
			t.Fatalf("what is %q?", word)
		}
	}
	return l, r
}

func localWord(l *resolver.Local, word, about string) bool {
	hook := hooks.Info{Kind: hooks.Kind(about)}
	if about == "db-relation-joined" {
		hook = hooks.Info{Kind: hooks.RelationJoined, Endpoint: "db", RelationID: 1, RemoteUnit: "mysql/0"}
	}
	if hook.Kind == hooks.SecretRotate || hook.Kind == hooks.SecretChanged {
		hook.Secret = secretID
	}
	if about == "storage-attached" {
		hook.Storage = "data/0"
	}
	if hook.IsWorkload() {
		hook.Workload, hook.Boot = "web", "1"
	}
	switch word {
	case "knows":
		l.Secrets = map[model.SecretID]resolver.SecretTold{secretID: {
			Changed: 3, Rotated: noon, Expired: map[int]time.Time{3: noon.Add(-time.Minute)}, Removed: []int{2},
		}}
	case "charm":
		l.Charm = "ch:1"
	case "installed":
		l.Installed = true
	case "configured":
		l.Configured = true
	case "settled":
		l.Charm, l.Installed, l.Configured, l.Started = "ch:1", true, true, true
		l.Seen = resolver.Seen{Config: "1"}
	case "settings":
		l.Seen.LeaderSettings = 0
	case "boot":
		l.Seen.Boot = about
	case "lost":
		l.Charm = ""
	case "upgraded":
		l.Upgraded = true
	case "reconfigure":
		l.Seen.Config = ""
	case "stopped":
		l.Stopped = true
	case "removed":
		l.Removed = true
	case "leads":
		l.Leader = true
	case "pending":
		l.Run, l.Current = 7, &resolver.Current{Hook: hook, Run: 7, Step: resolver.Pending}
	case "again":
		l.Again = append(l.Again, resolver.Again{Hook: hook, Requeue: model.Requeue{At: noon.Add(time.Minute), Reason: "not ready"}})
	case "joined":
		l.Relations[1] = l.Relations[1].After(hooks.Info{Kind: hooks.RelationJoined, RemoteUnit: "mysql/0", Version: 1}).
			After(hooks.Info{Kind: hooks.RelationChanged, RemoteUnit: "mysql/0", Version: 1})
	case "running-task":
		l.Run, l.Task = 7, &resolver.TaskRun{Hook: task, Run: 7}
	case "over":
		l.Current.Over = true
	case "basis":
		l.Current.Basis = resolver.Basis{Charm: "ch:1", Settings: "1"}
	case "oldbasis":
		l.Current.Basis = resolver.Basis{Charm: "ch:0", Settings: "1"}
	case "failed":
		l.Run = 7
		l.Current = &resolver.Current{Hook: hook, Run: 7, Step: resolver.Failed, Failure: &resolver.Failure{}, Attempts: 1, RetryAt: noon}
	default:
		return false
	}
	return true
}

const secretID = model.SecretID("9m4e2mr0ui3e8a215n4g")

// own is the secret that the unit cares for.
func own(r *resolver.Remote) *resolver.OwnSecret {
	if len(r.OwnSecrets) == 0 {
		r.OwnSecrets = []resolver.OwnSecret{{ID: secretID}}
	}
	return &r.OwnSecrets[0]
}

func remoteWord(r *resolver.Remote, word, about string) bool {
	switch word {
	case "gone":
		r.Gone = true
	case "dying":
		r.Life = model.Dying
	case "dead":
		r.Life = model.Dead
	case "orphaned":
		r.Orphaned, r.OrphanReason = true, "the application is being removed"
	case "task", "begun-task":
		r.Task = resolver.Task{Hook: task, Begun: word == "begun-task"}
	case "ahead":
		r.Committed = 8
	case "stamped":
		r.Committed = 7
	case "answer":
		r.Resolved = resolver.Resolved{Run: 7, Mode: resolver.Mode(about)}
	case "other":
		r.Resolved.Run = 6
	case "charm2":
		r.Charm = "ch:2"
	case "forced":
		r.Forced = true
	case "lenient":
		if about != "" {
			return false
		}
		r.Lenient = true
	case "retry":
		r.Retry = true
	case "early":
		r.Now = noon.Add(-time.Second)
	case "late":
		r.Now = noon.Add(time.Hour)
	case "interval":
		r.StatusInterval = time.Minute
	case "subordinate":
		r.Subordinates = []model.UnitName{"ntp/0"}
	case "leader":
		r.Leader = true
	case "expired":
		own(r).Expiring = []resolver.Expiring{{Revision: 3, At: noon}}
	case "rotates":
		own(r).Rotate, own(r).NextRotate = "hourly", noon.Add(-time.Hour)
	case "obsolete":
		own(r).Obsolete = []int{2}
	case "newer":
		r.ReadSecrets = []resolver.ReadSecret{{ID: secretID, Latest: 3, Seen: 1}}
	case "config2":
		r.Want.Config = "2"
	case "boot2":
		r.Want.Boot = "2"
	case "values2":
		r.Settings = "2"
	case "settings2":
		r.Want.LeaderSettings = 2
	default:
		return false
	}
	return true
}

func storageWord(l *resolver.Local, r *resolver.Remote, word, about string) bool {
	id := model.StorageID(about)
	i := slices.IndexFunc(r.Storage, func(s resolver.Storage) bool { return s.ID == id })
	switch {
	case word == "attached":
		l.Storage = maps.Clone(l.Storage)
		if l.Storage == nil {
			l.Storage = map[model.StorageID]bool{}
		}
		l.Storage[id] = true
		return true
	case word == "going":
		r.Storage[i].Going = true
		return true
	case word != "ready" && word != "initial" && word != "pending-storage":
		return false
	case i < 0:
		r.Storage = append(r.Storage, resolver.Storage{ID: id, Kind: model.Filesystem})
		slices.SortFunc(r.Storage, func(a, b resolver.Storage) int { return model.CompareStorage(a.ID, b.ID) })
		i = slices.IndexFunc(r.Storage, func(s resolver.Storage) bool { return s.ID == id })
	}
	r.Storage[i].Ready = r.Storage[i].Ready || word == "ready"
	r.Storage[i].Initial = r.Storage[i].Initial || word == "initial"
	return true
}

func relationWord(l *resolver.Local, r *resolver.Remote, word, endpoint string) bool {
	id := map[string]model.RelationID{"cluster": 0, "db": 1, "web": 2}[endpoint]
	snap := relation.Snapshot{ID: id, Endpoint: endpoint, RemoteApp: "mysql", Peer: endpoint == "cluster", Live: true}
	i := slices.IndexFunc(r.Relations, func(s relation.Snapshot) bool { return s.ID == id })
	switch word {
	case "rel":
		r.Relations = append(r.Relations, snap)
		slices.SortFunc(r.Relations, func(a, b relation.Snapshot) int { return strings.Compare(a.Endpoint, b.Endpoint) })
	case "known":
		l.Relations[id] = relation.New(snap)
	case "told":
		l.Relations[id] = relation.New(snap).After(hooks.Info{Kind: hooks.RelationCreated})
	case "scope":
		r.Relations[i].InScope = true
	case "application":
		r.Relations[i].Application = 1
	case "notyet":
		r.Relations[i].NotYet = true
	case "suspended":
		r.Relations[i].Live = false
	case "lenient":
		r.Relations[i].Lenient = true
	case "member":
		r.Relations[i].Members = model.Members{{Unit: "mysql/0", Version: 1}}
	default:
		return false
	}
	return true
}

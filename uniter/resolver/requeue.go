package resolver

import (
	"slices"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// Again is a hook that has committed and has asked to be run again.
type Again struct {
	Hook hooks.Info `json:"hook"`
	model.Requeue
	// Wait is how long it was to wait; 0: that isn't known.
	Wait time.Duration `json:"wait,omitempty"`
}

// cause is why it runs again, for people.
func (a Again) cause() string {
	if a.Reason == "" {
		return "it asked to run again"
	}
	return "it asked to run again: " + a.Reason
}

// without is the list without that hook, in a slice of its own.
func without(all []Again, h hooks.Info) []Again {
	i := slices.IndexFunc(all, func(a Again) bool { return a.Hook.Same(h) })
	if i < 0 {
		return all
	}
	return slices.Delete(slices.Clone(all), i, i+1)
}

// askedAgain is the list with the wish of a hook that has committed, in a slice
// of its own. A hook that was run for another reason before its time had come
// has run: there is nothing left to wait for, unless it asks once more.
func askedAgain(all []Again, h hooks.Info, wish *model.Requeue, at time.Time) []Again {
	if len(all) == 0 {
		all = nil
	}
	if wish == nil || !h.Repeats() {
		return all
	}
	all = append(slices.Clone(all), Again{Hook: h, Requeue: *wish, Wait: max(wish.At.Sub(at), 0)})
	slices.SortStableFunc(all, func(a, b Again) int { return a.At.Compare(b.At) })
	return all
}

// requeued runs what has asked for it once its time has come, when nothing else
// is due. Source: unitd's own, docs/hook-tools.md.
func requeued(l Local, r Remote) (Op, bool) {
	if !l.Started {
		return Op{}, false
	}
	for _, a := range l.Again {
		h := a.Hook
		h.Again, h.Cause = true, a.cause()
		if why := pointless(&h, l, r); why != "" {
			return Op{Verb: Unqueue, Hook: h, Reason: why}, true
		}
		if !r.Now.Before(a.At) {
			return run(l, r, upToDate(h, r))
		}
	}
	return Op{}, false
}

// pointless says why a hook isn't to be run again, and brings it up to date
// where it is; empty: it is. All that goes has been told by then.
func pointless(h *hooks.Info, l Local, r Remote) string {
	switch {
	case h.IsRelation():
		s, known := l.Relations[h.RelationID]
		snap, there := r.relation(h.RelationID)
		_, member := s.Members.Version(h.RemoteUnit)
		switch {
		case !known || !there || !snap.Live:
			return "the relation is gone"
		case h.RemoteUnit != "" && !member:
			return "the remote unit has left"
		}
	case h.IsStorage():
		if s, there := r.storage(h.Storage); !there || s.Going || !l.Storage[h.Storage] {
			return "the storage is gone"
		}
	case h.IsWorkload():
		up, there := workloadUpToDate(*h, r)
		*h = up
		if !there {
			return "the container is gone"
		}
	case h.IsSecret():
		if !currentSecret(h, r) || !currentRevision(*h, r) {
			return "the secret, or its revision, is gone"
		}
	case h.Kind == hooks.LeaderElected && !l.Leader:
		return "the unit is no longer leader"
	case h.Kind == hooks.LeaderSettingsChanged && r.Leader:
		return "the unit leads"
	}
	return ""
}

// currentRevision says whether the revision that a hook tells of is still there.
func currentRevision(h hooks.Info, r Remote) bool {
	i := slices.IndexFunc(r.OwnSecrets, func(s OwnSecret) bool { return s.ID == h.Secret })
	switch h.Kind {
	case hooks.SecretExpired:
		return r.OwnSecrets[i].expires(h.SecretRevision)
	case hooks.SecretRemove:
		return slices.Contains(r.OwnSecrets[i].Obsolete, h.SecretRevision)
	}
	return true
}

// requeueDue is when the first hook is to be run again; zero: none is.
func requeueDue(l Local) time.Time {
	if !l.Started || len(l.Again) == 0 {
		return time.Time{}
	}
	return l.Again[0].At
}

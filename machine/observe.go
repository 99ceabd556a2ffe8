package machine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/relation"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/uniter/resolver"
)

// remote turns what the model says of a unit into what the resolver reads.
// endpoints are those of the charm that is deployed: a relation on one that
// the charm doesn't have yet is left out until an upgrade brings it.
func remote(s *state.Snapshot, endpoints []model.Endpoint, now time.Time) resolver.Remote {
	r := resolver.Remote{
		Now:            now,
		Life:           s.Unit.Life,
		Lenient:        s.Force >= state.SkipFailing,
		Orphaned:       s.Orphaned,
		OrphanReason:   s.OrphanReason,
		Charm:          s.Application.Charm,
		Forced:         s.Application.Forced,
		Want:           resolver.Seen{Config: s.ConfigHash, LeaderSettings: s.LeaderSettings, Resources: s.Application.Given},
		Settings:       s.SettingsHash,
		Leader:         s.Leader,
		Resolved:       resolver.Resolved{Run: s.Unit.Resolved.Run, Mode: resolver.Mode(s.Unit.Resolved.Mode)},
		Committed:      s.Unit.Run,
		Memory:         memoryOf(s.Unit),
		Subordinates:   s.Unit.Subordinates,
		Retry:          s.Retry,
		StatusInterval: s.StatusInterval,
		Sidecar:        s.Application.Sidecar,
		WorkloadErrors: s.Application.WorkloadErrors == state.AreErrors,
	}
	if r.Sidecar {
		r.Charm, r.Pod = s.Pod.Wanted.Charm, s.Pod.Wanted.Number
	}
	addSecrets(&r, s)
	if s.Task.ID != "" {
		r.Task = resolver.Task{Hook: taskInfo(s.Task), Begun: s.Task.Begun}
	}
	has := map[string]bool{}
	for _, e := range endpoints {
		has[e.Name] = true
	}
	for _, v := range s.Relations {
		if has[v.Own.Name] {
			r.Relations = append(r.Relations, snapshot(v))
		}
	}
	for _, v := range state.Undetached(s.Storage) {
		r.Storage = append(r.Storage, resolver.Storage{
			ID: v.ID, Kind: v.Kind, Ready: v.Attachment.Ready, Location: v.Attachment.Location,
			Why: v.Problem, Initial: v.Attachment.Initial, Going: v.Going,
		})
	}
	return r
}

// memoryOf is what was committed with a unit's newest run; zero where that was
// by an agent that committed none.
func memoryOf(u state.UnitDoc) (m resolver.Memory) {
	if json.Unmarshal(u.Memory, &m) != nil {
		return resolver.Memory{}
	}
	return m
}

// endpointsOf are the endpoints of a unit that has a charm deployed; none where
// it has none.
func endpointsOf(ctx context.Context, m *state.Model, unit model.UnitName, charm string) ([]model.Endpoint, error) {
	if charm == "" {
		return nil, nil
	}
	doc, err := m.Charm(ctx, charm)
	return doc.Charm.EndpointsOf(unit.Application()), errors.Trace(err)
}

// Look is what the agent of a unit that remembers l would see of the model at a
// time: for those who want to know what it will do. The error is NotFound where
// there is no such unit.
func Look(ctx context.Context, m *state.Model, unit model.UnitName, l resolver.Local, now time.Time) (resolver.Remote, error) {
	remote, err := LookOut(ctx, m, m.Lookout(unit), l, now)
	return remote, errors.Trace(err)
}

// LookOut is Look for whoever looks time and again: by the unit's Lookout, of
// the same model, a look costs what has changed since the last one.
func LookOut(ctx context.Context, m *state.Model, lookout *state.Lookout, l resolver.Local, now time.Time) (resolver.Remote, error) {
	s, err := lookout.Snapshot(ctx)
	if err != nil {
		return resolver.Remote{}, errors.Trace(err)
	}
	endpoints, err := endpointsOf(ctx, m, s.Unit.Name, l.Charm)
	r := remote(s, endpoints, now)
	r.Workloads = resolver.AsTold(l) // only the unit's own agent sees its containers
	if err != nil || !r.Sidecar || r.Pod == l.Pod {
		return r, errors.Trace(err)
	}
	told, err := m.Containers(ctx, s.Unit.Name)
	r.Unfetched = told.Next != nil
	return r, errors.Trace(err)
}

// proxyOf are the model's settings that begin so for what is reached through a
// proxy: "juju-" are those for charms, "" those for any program. Who
// is reached without one matters only where there is one.
func proxyOf(settings map[string]string, prefix string) hooks.Proxy {
	p := hooks.Proxy{
		HTTP: settings[prefix+"http-proxy"], HTTPS: settings[prefix+"https-proxy"],
		FTP: settings[prefix+"ftp-proxy"], No: settings[prefix+"no-proxy"],
	}
	if p.HTTP == "" && p.HTTPS == "" && p.FTP == "" {
		p.No = ""
	}
	return p
}

func snapshot(v state.RelationView) relation.Snapshot {
	s := relation.Snapshot{
		ID: v.ID, Key: v.Key, Endpoint: v.Own.Name, RemoteApp: v.Other.Application, Peer: v.IsPeer(),
		Implicit: v.Own.Implicit(), Live: v.Life == model.Alive && !v.Suspended, Lenient: v.Force >= state.SkipFailing,
		InScope: v.InScope, NotYet: v.NotYet, Members: v.Members, Application: v.ApplicationVersion,
	}
	if v.Across != nil {
		s.RemoteModel = v.Across.Model
	}
	return s
}

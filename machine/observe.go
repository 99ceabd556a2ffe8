package machine

import (
	"encoding/json"
	"time"

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
		Orphaned:       s.Orphaned,
		OrphanReason:   s.OrphanReason,
		Charm:          s.Application.Charm,
		Forced:         s.Application.Forced,
		Want:           resolver.Seen{Config: s.ConfigHash, LeaderSettings: s.LeaderSettings, Resources: s.Application.Given},
		Leader:         s.Leader,
		Resolved:       resolver.Resolved{Run: s.Unit.Resolved.Run, Mode: resolver.Mode(s.Unit.Resolved.Mode)},
		Committed:      s.Unit.Run,
		Memory:         memoryOf(s.Unit),
		Subordinates:   s.Unit.Subordinates,
		Retry:          s.Retry,
		StatusInterval: s.StatusInterval,
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

// proxyOf are the model's settings for what charms reach through a proxy. Who
// is reached without one matters only where there is one.
func proxyOf(settings map[string]string) hooks.Proxy {
	p := hooks.Proxy{
		HTTP: settings["juju-http-proxy"], HTTPS: settings["juju-https-proxy"],
		FTP: settings["juju-ftp-proxy"], No: settings["juju-no-proxy"],
	}
	if p.HTTP == "" && p.HTTPS == "" && p.FTP == "" {
		p.No = ""
	}
	return p
}

func snapshot(v state.RelationView) relation.Snapshot {
	return relation.Snapshot{
		ID: v.ID, Endpoint: v.Own.Name, RemoteApp: v.Other.Application, Peer: v.IsPeer(),
		Implicit: v.Own.Implicit(), Live: v.Life == model.Alive && !v.Suspended,
		InScope: v.InScope, NotYet: v.NotYet, Members: v.Members, Application: v.ApplicationVersion,
	}
}

package machine

import (
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
		Want:           resolver.Seen{Config: s.ConfigHash, LeaderSettings: s.LeaderSettings},
		Leader:         s.Leader,
		Resolved:       resolver.Resolved{Run: s.Unit.Resolved.Run, Mode: resolver.Mode(s.Unit.Resolved.Mode)},
		Committed:      s.Unit.Run,
		Subordinates:   s.Unit.Subordinates,
		Retry:          s.Retry,
		StatusInterval: s.StatusInterval,
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
	for _, v := range s.Storage {
		r.Storage = append(r.Storage, resolver.Storage{
			ID: v.ID, Kind: v.Kind, Ready: v.Attachment.Ready, Location: v.Attachment.Location,
			Why: v.Problem, Initial: v.Attachment.Initial, Going: v.Going,
		})
	}
	return r
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
	s := relation.Snapshot{
		ID: v.ID, Endpoint: v.Own.Name, RemoteApp: v.Other.Application, Peer: v.IsPeer(),
		Implicit: v.Own.Implicit(), Live: v.Life == model.Alive && !v.Suspended,
		InScope: v.InScope, NotYet: v.NotYet, Application: v.ApplicationVersion,
	}
	for _, m := range v.Members {
		s.Members = append(s.Members, relation.Member(m))
	}
	return s
}

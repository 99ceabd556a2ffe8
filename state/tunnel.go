package state

import (
	"context"
	"net/netip"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// TunnelDoc is a host for the isolated units of the model's other hosts.
type TunnelDoc struct {
	// Machine is that of the host's agent, or ManagingHost.
	Machine string `json:"machine"`
	// Network is that of the host's isolated units, "10.64.4.0/22". No two hosts of a model
	// have the same.
	Network string `json:"network"`
	// Key is the host's public key; empty: it has only claimed the network yet.
	Key string `json:"key,omitempty"`
	// Endpoints are where it is reached, HOST:PORT of UDP, the preferred one first.
	Endpoints []string `json:"endpoints,omitempty"`
}

const tunnelKind = "tunnel"

func tunnelKey(machine string) string { return tunnelKind + "/" + machine }

// ClaimNetwork is the network of the isolated units of a machine's host, or of
// ManagingHost's: the one that it has claimed before, or the first of the candidates that no
// other host of the model has. agent is the id with which the machine's has joined. The errors
// are QuotaLimitExceeded where all are taken, and Forbidden for an agent that isn't the
// machine's.
func (m *Model) ClaimNetwork(ctx context.Context, machine, agent string, candidates func(try int) netip.Prefix) (network netip.Prefix, err error) {
	_, err = m.update(ctx, func(tx *txn) error {
		if err := tx.mayTunnel(machine, agent); err != nil {
			return errors.Trace(err)
		}
		others, own, err := tx.tunnels(machine)
		if err != nil {
			return errors.Trace(err)
		}
		if own != nil {
			if network, err = netip.ParsePrefix(own.Network); err == nil {
				return nil
			}
		}
		for try := range 1000 {
			network = candidates(try)
			if !network.IsValid() {
				break
			}
			if _, taken := whoseNetwork(others, network); !taken {
				return tx.put(tunnelKey(machine), TunnelDoc{Machine: machine, Network: network.String()})
			}
		}
		return errors.QuotaLimitExceededf("all networks for isolated units are taken by other hosts")
	}, store.Relaxed)
	return network, errors.Trace(err)
}

// SetTunnel says what a host is for others. agent is the id with which the machine's has
// joined. The errors are AlreadyExists where another host of the model has its network, or a
// part of it, and Forbidden for an agent that isn't the machine's, as it was removed.
func (m *Model) SetTunnel(ctx context.Context, doc TunnelDoc, agent string) error {
	network, err := netip.ParsePrefix(doc.Network)
	if err != nil {
		return errors.NewNotValid(err, "the network of isolated units")
	}
	_, err = m.update(ctx, func(tx *txn) error {
		if err := tx.mayTunnel(doc.Machine, agent); err != nil {
			return errors.Trace(err)
		}
		others, own, err := tx.tunnels(doc.Machine)
		if err != nil {
			return errors.Trace(err)
		}
		if by, taken := whoseNetwork(others, network); taken {
			return errors.AlreadyExistsf("isolated units with the network %s, on the host of machine %s,", network, by)
		}
		if own != nil && own.Network == doc.Network && own.Key == doc.Key && slices.Equal(own.Endpoints, doc.Endpoints) {
			return nil
		}
		return tx.put(tunnelKey(doc.Machine), doc)
	}, store.Relaxed)
	return errors.Trace(err)
}

// mayTunnel is Forbidden for an agent that isn't that of a machine.
func (d docs) mayTunnel(machine, agent string) error {
	if machine == ManagingHost {
		return nil
	}
	return errors.Trace(d.isAgentOf(machine, agent))
}

// RemoveTunnel says that a host takes no part; the network that it has claimed is free again.
func (m *Model) RemoveTunnel(ctx context.Context, machine string) error {
	_, err := m.update(ctx, func(tx *txn) error { return tx.delete(tunnelKey(machine)) }, store.Relaxed)
	return errors.Trace(err)
}

// Tunnels are the documents of all hosts.
func (m *Model) Tunnels(ctx context.Context) (all []TunnelDoc, err error) {
	_, err = m.view(ctx, func(r docs) (err error) {
		all, err = list[TunnelDoc](r, tunnelKind+"/")
		return errors.Trace(err)
	})
	return all, errors.Trace(err)
}

// tunnels are the documents of other hosts than a machine's, and its own; nil: it has none.
func (d docs) tunnels(machine string) (others []TunnelDoc, own *TunnelDoc, err error) {
	all, err := list[TunnelDoc](d, tunnelKind+"/")
	if err != nil {
		return nil, nil, errors.Trace(err)
	}
	for _, doc := range all {
		if doc.Machine == machine {
			own = &doc
			continue
		}
		others = append(others, doc)
	}
	return others, own, nil
}

// whoseNetwork is the machine of a host that has a network, or a part of it.
func whoseNetwork(all []TunnelDoc, network netip.Prefix) (machine string, taken bool) {
	for _, doc := range all {
		if p, err := netip.ParsePrefix(doc.Network); err == nil && p.Overlaps(network) {
			return doc.Machine, true
		}
	}
	return "", false
}

package model

import (
	"maps"
	"slices"
)

// Settings is a databag: what one unit, or one application, tells the other
// side of a relation. Keys are never empty; an empty value in a *change*
// deletes the key (docs/spec/hook-tools.md §5), so no stored bag has one.
type Settings map[string]string

// The keys of a unit's addresses in its settings.
const (
	PrivateAddress = "private-address"
	IngressAddress = "ingress-address"
	EgressSubnets  = "egress-subnets"
)

// AddressKeys are the keys that the unit's agent writes, and keeps as the unit's
// addresses are, beside what the charm writes (docs/spec/hook-tools.md §5).
func AddressKeys() []string { return []string{EgressSubnets, IngressAddress, PrivateAddress} }

// Clone is a copy that shares nothing; the clone of nil is empty, not nil.
func (s Settings) Clone() Settings {
	c := make(Settings, len(s))
	maps.Copy(c, s)
	return c
}

// Apply returns s with the change laid over it: an empty value deletes its
// key. The second result says whether anything differs. s is not changed.
func (s Settings) Apply(change Settings) (Settings, bool) {
	out, changed := s.Clone(), false
	for _, k := range change.Keys() {
		v := change[k]
		old, had := out[k]
		switch {
		case v == "" && had:
			delete(out, k)
			changed = true
		case v != "" && (!had || old != v):
			out[k] = v
			changed = true
		}
	}
	return out, changed
}

// Keys are the keys in order.
func (s Settings) Keys() []string { return slices.Sorted(maps.Keys(s)) }

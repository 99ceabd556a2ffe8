package state

import (
	"time"

	"github.com/unitd/unitd/model"
)

// MachineDoc is the document of a machine.
type MachineDoc struct {
	ID        string           `json:"id"`
	Life      model.Life       `json:"life"`
	Units     []model.UnitName `json:"units,omitempty"` // principals
	Hostname  string           `json:"hostname,omitempty"`
	Addresses []string         `json:"addresses,omitempty"`
	// BaseName and BaseChannel are its operating system, "ubuntu" and "24.04".
	BaseName    string `json:"base-name,omitempty"`
	BaseChannel string `json:"base-channel,omitempty"`
	// System is what its systemd says of it, where an isolated unit is the machine; nil:
	// it has none.
	System *model.System `json:"system,omitempty"`
	// Constraints are the text of model.Constraints that it was made with. AskedBase, as
	// "ubuntu@24.04", and Disks are what else was asked for; only people are told.
	Constraints string   `json:"constraints,omitempty"`
	AskedBase   string   `json:"asked-base,omitempty"`
	Disks       []string `json:"disks,omitempty"`
	// ForUnit: the machine was made for one unit, and goes with it.
	ForUnit bool `json:"for-unit,omitempty"`
	// Pod: it stands for the machine of a container unit, which has none. People
	// don't see it, and nothing else is placed on it.
	Pod bool `json:"pod,omitempty"`
	// Provider is who sees to it that there is a host for it: LocalProvider or
	// ManualProvider.
	Provider string `json:"provider,omitempty"`
	// Instance is what the provider calls the host; empty: it has none yet.
	Instance string `json:"instance,omitempty"`
	// Agent is the id of the agent that has joined as the machine's; of a machine
	// of LocalProvider it is empty.
	Agent string `json:"agent,omitempty"`
	// Join says who may join; nil: nobody, any more.
	Join *JoinDoc `json:"join,omitempty"`
	// Created is when it was added; zero for one that was made for a unit.
	Created time.Time `json:"created,omitzero"`
	Started time.Time `json:"started,omitzero"`
	// Annotations are people's own words on it, by their keys.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// JoinDoc is what is kept of the token by which an agent joins as a machine's.
type JoinDoc struct {
	// Hash is the SHA-256 of the token's secret, in hex.
	Hash    string    `json:"hash"`
	Expires time.Time `json:"expires"`
}

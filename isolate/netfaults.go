package isolate

import (
	"maps"
	"slices"
	"time"
)

// NetFaults are what is wrong with the network of cells; the zero value is nothing. Cells
// are named by their keys. What is named may be gone, or not there yet.
type NetFaults struct {
	// Cables are those of single cells.
	Cables map[string]CableFault
	// Parted are the groups of cells that don't reach each other, and reach all others.
	Parted []Parted
}

// Parted are two groups of cells, by their keys.
type Parted struct{ One, Other []string }

// CableFault is what is wrong with the cable of a cell; all of it holds at the same time.
type CableFault struct {
	// Down: nothing gets through, in either direction.
	Down bool
	// Delay is how late the frames are that the cell sends, and Loss how many of
	// MaxLoss of them are lost. Frames that are sent to the cell arrive.
	Delay time.Duration
	Loss  int
}

// MaxLoss is the loss of all frames.
const MaxLoss = 10000

// late are the keys of the cells whose frames are late, in order.
func (f NetFaults) late() []string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(f.Cables)) {
		if f.Cables[key].Delay > 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

// frameHook is a moment at which a bridge looks at a frame.
type frameHook string

const (
	arriving  frameHook = "arriving"  // at a port
	crossing  frameHook = "crossing"  // from port to port
	departing frameHook = "departing" // at a port, also if the host has sent it
)

// frameRule drops frames.
type frameRule struct {
	at frameHook
	// in and out are the ports, by the names of devices; empty: any.
	in, out string
	// chance is how many of MaxLoss frames it drops.
	chance int
}

// ports are the bridge's ports of a cell: cable is the one that leads to it, and late the
// one by which its frames arrive when they are late.
type ports struct{ cable, late string }

// rules say which frames the bridge drops. A cell's frames that are late come a second
// time: those that come by its cable are dropped then.
func (f NetFaults) rules(of func(key string) ports) []frameRule {
	var rules []frameRule
	drop := func(at frameHook, in, out string, chance int) {
		rules = append(rules, frameRule{at: at, in: in, out: out, chance: chance})
	}
	from := func(key string) string { // the port by which its frames come that count
		if f.Cables[key].Delay > 0 {
			return of(key).late
		}
		return of(key).cable
	}
	for _, key := range slices.Sorted(maps.Keys(f.Cables)) {
		fault := f.Cables[key]
		if fault.Delay > 0 {
			drop(arriving, of(key).cable, "", MaxLoss)
			drop(departing, "", of(key).late, MaxLoss) // where nobody listens
		}
		switch {
		case fault.Down:
			drop(arriving, from(key), "", MaxLoss)
			drop(departing, "", of(key).cable, MaxLoss)
		case fault.Loss > 0:
			drop(arriving, from(key), "", fault.Loss)
		}
	}
	for _, p := range f.Parted {
		for _, one := range p.One {
			for _, other := range p.Other {
				drop(crossing, from(one), of(other).cable, MaxLoss)
				drop(crossing, from(other), of(one).cable, MaxLoss)
			}
		}
	}
	return rules
}

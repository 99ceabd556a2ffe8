package script

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
)

// networkCommands have the units' network fail.
func networkCommands() []Cmd {
	return []Cmd{
		{Name: "network", Args: "UNIT down|up | UNIT delay DURATION | UNIT loss PERCENT | partition UNIT[,UNIT…] UNIT[,UNIT…] | heal", Summary: "cut an isolated unit off, delay or lose what it sends, or separate units from each other, until up or heal", run: (*call).network},
	}
}

// netOrder is what a line says is to happen to the network.
type netOrder struct {
	do netDeed
	// units are those that it happens to; of a partition they are parted from others.
	units, others []model.UnitName
	delay         time.Duration
	loss          int // of isolate.MaxLoss
}

type netDeed string

const (
	netDown      netDeed = "down"
	netUp        netDeed = "up"
	netDelay     netDeed = "delay"
	netLoss      netDeed = "loss"
	netPartition netDeed = "partition"
	netHeal      netDeed = "heal"
)

// parseNetwork reads a line. An error says what is wrong with it.
func parseNetwork(args []string) (netOrder, error) {
	word := func(n int) netDeed {
		if n < len(args) {
			return netDeed(args[n])
		}
		return ""
	}
	switch {
	case len(args) == 1 && word(0) == netHeal:
		return netOrder{do: netHeal}, nil
	case len(args) == 3 && word(0) == netPartition:
		return parsePartition(args[1], args[2])
	case word(0) == netPartition:
		return netOrder{}, errors.New("expected two groups of units")
	case len(args) < 2:
		return netOrder{}, errors.New("expected a unit, and what happens to its network")
	}
	unit, err := parseNetUnit(args[0])
	if err != nil {
		return netOrder{}, err
	}
	o := netOrder{do: word(1), units: []model.UnitName{unit}}
	switch {
	case len(args) == 2 && (o.do == netDown || o.do == netUp):
		return o, nil
	case len(args) == 3 && o.do == netDelay:
		o.delay, err = time.ParseDuration(args[2])
		if err != nil || o.delay < 0 {
			return netOrder{}, fmt.Errorf("%q is not a delay like 200ms or 2s", args[2])
		}
		return o, nil
	case len(args) == 3 && o.do == netLoss:
		o.loss, err = parsePercent(args[2])
		return o, err
	case slices.Contains([]netDeed{netDown, netUp, netDelay, netLoss}, o.do):
		return netOrder{}, fmt.Errorf("%q has the wrong arguments", o.do)
	}
	return netOrder{}, fmt.Errorf("%q is not down, up, delay or loss", o.do)
}

func parseNetUnit(s string) (model.UnitName, error) {
	unit, err := model.ParseUnitName(s)
	if err != nil {
		return "", fmt.Errorf("%q is not a unit", s)
	}
	return unit, nil
}

func parsePartition(one, other string) (netOrder, error) {
	o := netOrder{do: netPartition}
	for _, group := range []struct {
		text string
		to   *[]model.UnitName
	}{{one, &o.units}, {other, &o.others}} {
		for _, name := range strings.Split(group.text, ",") {
			unit, err := parseNetUnit(name)
			if err != nil {
				return netOrder{}, err
			}
			*group.to = append(*group.to, unit)
		}
	}
	for _, unit := range o.units {
		if slices.Contains(o.others, unit) {
			return netOrder{}, fmt.Errorf("%s can't be separated from itself", unit)
		}
	}
	return o, nil
}

// parsePercent is "10%" or "0.5%", of isolate.MaxLoss.
func parsePercent(s string) (int, error) {
	number, ok := strings.CutSuffix(s, "%")
	f, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(f >= 0 && f <= 100) {
		return 0, fmt.Errorf("%q is not a percentage from 0%% to 100%%", s)
	}
	return int(math.Round(f * isolate.MaxLoss / 100)), nil
}

// apply are the faults after the order; key is the key of a unit's machine.
func (o netOrder) apply(f isolate.NetFaults, key func(model.UnitName) string) isolate.NetFaults {
	if o.do == netHeal {
		return isolate.NetFaults{}
	}
	keys := func(units []model.UnitName) (all []string) {
		for _, u := range units {
			all = append(all, key(u))
		}
		return all
	}
	next := isolate.NetFaults{Cables: maps.Clone(f.Cables), Parted: slices.Clone(f.Parted)}
	if o.do == netPartition {
		next.Parted = append(next.Parted, isolate.Parted{One: keys(o.units), Other: keys(o.others)})
		return next
	}
	if next.Cables == nil {
		next.Cables = map[string]isolate.CableFault{}
	}
	for _, k := range keys(o.units) {
		cable := next.Cables[k]
		switch o.do {
		case netDown:
			cable.Down = true
		case netDelay:
			cable.Delay = o.delay
		case netLoss:
			cable.Loss = o.loss
		case netUp:
			cable = isolate.CableFault{}
			for i, p := range next.Parted {
				is := func(other string) bool { return other == k }
				next.Parted[i] = isolate.Parted{One: slices.DeleteFunc(slices.Clone(p.One), is), Other: slices.DeleteFunc(slices.Clone(p.Other), is)}
			}
		}
		next.Cables[k] = cable
	}
	return next
}

func (c *call) network() error {
	o, err := parseNetwork(c.args)
	if err != nil {
		return c.usagef("%v", err)
	}
	keys := map[model.UnitName]string{}
	for _, unit := range slices.Concat(o.units, o.others) {
		if keys[unit], err = c.netKey(unit); err != nil {
			return err
		}
	}
	next := o.apply(c.netFaults, func(u model.UnitName) string { return keys[u] })
	if c.net == nil {
		c.net = machine.NewCells(c.dir, "").FaultyNet()
	}
	if err := c.net.Set(next); err != nil {
		return errors.Annotate(err, "cannot make the network fail")
	}
	c.netFaults = next
	return nil
}

// netKey is the key of the machine of a unit that has a network of its own.
func (c *call) netKey(unit model.UnitName) (string, error) {
	m, err := c.model()
	if err != nil {
		return "", err
	}
	doc, err := m.Unit(c.ctx, unit)
	switch {
	case errors.Is(err, errors.NotFound):
		return "", misuse{fmt.Errorf("there is no unit %q%s", unit, c.others(m))}
	case err != nil:
		return "", err
	case doc.Principal != "":
		return "", errors.Errorf("%s is in the machine of %s: name that unit", unit, doc.Principal)
	}
	app, err := m.Application(c.ctx, unit.Application())
	if err != nil {
		return "", err
	}
	if !app.Isolation.On() {
		return "", errors.Errorf("%s has no network of its own: it isn't isolated, and shares the host's", unit)
	}
	key := machine.CellKey(m.UUID(), unit)
	cell, err := machine.NewCells(c.dir, "").Find(key)
	switch {
	case errors.Is(err, errors.NotFound):
		return "", errors.Errorf("%s has no machine yet: settle", unit)
	case err != nil:
		return "", err
	case cell.Network().Address == "":
		return "", errors.Errorf("%s has no network of its own: it is isolated without one, and shares the host's", unit)
	}
	return key, nil
}

// networksFail says whether units have networks of their own that can fail, also by what
// they send being late.
func (e *engine) networksFail(delay bool) (bool, error) {
	if e.Isolate == model.IsolateOff || e.Isolate == model.IsolateFiles || os.Geteuid() != 0 {
		return false, nil
	}
	err := isolate.CanFault(delay)
	if errors.Is(err, isolate.ErrNoRights) {
		return false, nil
	}
	return err == nil, errors.Trace(err)
}

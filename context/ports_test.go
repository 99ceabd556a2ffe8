package hookcontext_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/juju/errors"
	"pgregory.net/rapid"

	"github.com/unitd/unitd/model"
)

func tcp(from, to int) model.PortRange { return model.PortRange{From: from, To: to, Protocol: "tcp"} }

func TestPortsThatAreInTheWayAreRefusedAtTheCall(t *testing.T) {
	t.Parallel()
	view := newChanging()
	view.ports = map[model.UnitName]model.Ports{
		"app/0": {"": {tcp(10, 20)}},
		"z/0":   {"": {tcp(80, 80)}, "web": {tcp(81, 81)}},
		"b/0":   {"db": {tcp(80, 85)}},
	}
	c := newContext(view)
	must(t, c.OpenPort(tcp(30, 40), nil))
	for want, r := range map[string]model.PortRange{
		`cannot open 80-90/tcp (unit "app/0"): port range conflicts with 80-85/tcp (unit "b/0")`:                     tcp(80, 90),
		`cannot open 15/tcp (unit "app/0"): port range conflicts with 10-20/tcp (unit "app/0")`:                      tcp(15, 15),
		`cannot open 40-50/tcp (unit "app/0"): port range conflicts with 30-40/tcp (unit "app/0") requested earlier`: tcp(40, 50),
	} {
		mustFail(t, r.String(), c.OpenPort(r, nil), errors.AlreadyExists, want)
	}
	for want, r := range map[string]model.PortRange{
		`cannot close 80/tcp (unit "app/0"): port range conflicts with 80-85/tcp (unit "b/0")`:                        tcp(80, 80),
		`cannot close 80-85/tcp (unit "app/0"): port range conflicts with 80-85/tcp (unit "b/0")`:                     tcp(80, 85),
		`cannot close 15/tcp (unit "app/0"): port range conflicts with 10-20/tcp (unit "app/0")`:                      tcp(15, 15),
		`cannot close 40-50/tcp (unit "app/0"): port range conflicts with 30-40/tcp (unit "app/0") requested earlier`: tcp(40, 50),
	} {
		mustFail(t, r.String(), c.ClosePort(r, nil), errors.AlreadyExists, want)
	}
	must(t, c.OpenPort(model.PortRange{From: 80, To: 80, Protocol: "udp"}, nil))
	must(t, c.OpenPort(tcp(10, 20), nil))
	must(t, c.ClosePort(tcp(10, 20), nil))
	must(t, c.OpenPort(tcp(15, 15), nil))
	mustBe(t, "changes", fmt.Sprint(c.Changes().Ports),
		"[{ 10-20/tcp true} { 15/tcp false} { 30-40/tcp false} { 80/udp false}]")
}

func TestPortsAreForEndpointsOfTheCharm(t *testing.T) {
	t.Parallel()
	c := newContext(newChanging())
	mustFail(t, "opening", c.OpenPort(tcp(1, 1), []string{"db", "nosuch"}), errors.NotFound, `endpoint "nosuch" not found`)
	mustFail(t, "closing", c.ClosePort(tcp(1, 1), []string{"nosuch"}), errors.NotFound, `endpoint "nosuch" not found`)
	if err := c.OpenPort(tcp(2, 1), nil); !errors.Is(err, errors.NotValid) {
		t.Errorf("a range that is none: %v", err)
	}
	if changes := c.Changes(); !reflect.DeepEqual(changes, model.Changes{}) {
		t.Errorf("changes: %+v", changes)
	}
}

func TestOpenThenCloseCancelsOut(t *testing.T) {
	t.Parallel()
	c := newContext(newChanging())
	must(t, c.OpenPort(tcp(1, 1), []string{"db"}))
	must(t, c.ClosePort(tcp(1, 1), nil))
	must(t, c.ClosePort(tcp(2, 2), nil))
	if changes := c.Changes(); !reflect.DeepEqual(changes, model.Changes{}) {
		t.Errorf("changes: %+v", changes)
	}
}

// The changes lead from the ports that were to those that the hook saw, and
// each range is open for all endpoints or for some, never for both.
func TestPortChangesLeadToThePortsThatTheHookSaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ranges := rapid.SampledFrom([]model.PortRange{tcp(1, 1), tcp(5, 9), {Protocol: "icmp"}})
		endpoints := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"", "db", "web", model.JujuInfo}), func(s string) string { return s })
		view := newChanging()
		were := model.Ports{"": {tcp(1, 1)}, "db": {tcp(5, 9)}}
		view.ports = map[model.UnitName]model.Ports{"app/0": were}
		c := newContext(view)
		for range rapid.IntRange(0, 8).Draw(t, "steps") {
			r, eps := ranges.Draw(t, "range"), endpoints.Draw(t, "endpoints")
			step, verb := c.OpenPort, "open"
			if rapid.Bool().Draw(t, "close") {
				step, verb = c.ClosePort, "close"
			}
			if err := step(r, eps); err != nil {
				t.Fatal(err)
			}
			seen, _ := c.OpenedPorts()
			for _, ep := range eps {
				open := slices.Contains(seen[ep], r) || slices.Contains(seen[""], r)
				if open != (verb == "open") && ep != "" {
					t.Errorf("after %s %v %q: %v", verb, r, eps, seen)
				}
			}
		}
		seen, _ := c.OpenedPorts()
		after := were.Apply(c.Changes().Ports)
		if fmt.Sprint(after) != fmt.Sprint(seen) {
			t.Errorf("%v committed, %v seen", after, seen)
		}
		for ep, open := range seen {
			for _, r := range open {
				if ep != "" && slices.Contains(seen[""], r) {
					t.Errorf("%v is open for all and for %s", r, ep)
				}
			}
		}
	})
}

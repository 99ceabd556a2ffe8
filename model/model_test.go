package model_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/juju/errors"
	"pgregory.net/rapid"

	"github.com/unitd/unitd/model"
)

func TestParseUnitName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"mysql/0", "mysql/10", "my-sql2/3", "a/123456"} {
		u, err := model.ParseUnitName(name)
		if err != nil || string(u) != name || model.NewUnitName(u.Application(), u.Number()) != u {
			t.Errorf("%q: got %q, %v", name, u, err)
		}
	}
	for _, name := range []string{
		"", "mysql", "mysql/", "/0", "mysql/01", "mysql/-1", "mysql/+1", "mysql/x", "mysql/0/1", "Mysql/0", "my-1/0", "mysql /0", "1mysql/0",
		"mysql/99999999999999999999",
	} {
		_, err := model.ParseUnitName(name)
		if want := fmt.Sprintf("invalid unit name %q", name); !errors.Is(err, errors.NotValid) || err.Error() != want {
			t.Errorf("%q: got %v, want %s", name, err, want)
		}
	}
}

func TestUnitsComeByApplicationThenNumber(t *testing.T) {
	t.Parallel()
	units := []model.UnitName{"b/1", "a/10", "a-b/0", "a/2", "a/0"}
	slices.SortFunc(units, model.CompareUnits)
	if got := fmt.Sprint(units); got != "[a/0 a/2 a/10 a-b/0 b/1]" {
		t.Errorf("got %s", got)
	}
}

func TestSettingsApply(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name               string
		was, change, after model.Settings
		changed            bool
	}{
		{"a new key", nil, model.Settings{"a": "1"}, model.Settings{"a": "1"}, true},
		{"another value", model.Settings{"a": "1"}, model.Settings{"a": "2"}, model.Settings{"a": "2"}, true},
		{"the same value changes nothing", model.Settings{"a": "1"}, model.Settings{"a": "1"}, model.Settings{"a": "1"}, false},
		{"an empty value deletes its key", model.Settings{"a": "1", "b": "2"}, model.Settings{"a": ""}, model.Settings{"b": "2"}, true},
		{"deleting what isn't there changes nothing", model.Settings{"b": "2"}, model.Settings{"a": ""}, model.Settings{"b": "2"}, false},
		{"no change", model.Settings{"b": "2"}, nil, model.Settings{"b": "2"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			was := maps.Clone(c.was)
			after, changed := c.was.Apply(c.change)
			if !maps.Equal(after, c.after) || changed != c.changed || !maps.Equal(was, c.was) {
				t.Errorf("got %v, %v, from %v", after, changed, c.was)
			}
		})
	}
}

func TestParsePortRange(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"80": "80/tcp", "80/udp": "80/udp", "8000-8100/TCP": "8000-8100/tcp", "80-80": "80/tcp", "icmp": "icmp", "ICMP": "icmp", "0": "0/tcp", "65535": "65535/tcp",
	} {
		p, err := model.ParsePortRange(text)
		if err != nil || p.String() != want {
			t.Errorf("%q: got %s, %v; want %s", text, p, err, want)
		}
		if again, err := model.ParsePortRange(p.String()); err != nil || again != p {
			t.Errorf("%s reads back as %s, %v", p, again, err)
		}
	}
	for _, text := range []string{"", "x", "80/", "80/sctp", "80-70", "65536", "-1", "1-2-3", "80/tcp/udp", "1-x"} {
		if p, err := model.ParsePortRange(text); !errors.Is(err, errors.NotValid) {
			t.Errorf("%q: got %v, %v", text, p, err)
		}
	}
}

func TestPortRangesConflictWhereTheyShareAPortOfAProtocol(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"80", "80", true}, {"80", "80/udp", false}, {"80-90", "90-100", true}, {"80-89", "90-100", false}, {"80-100", "85", true},
	} {
		a, errA := model.ParsePortRange(c.a)
		b, errB := model.ParsePortRange(c.b)
		if errA != nil || errB != nil || a.Conflicts(b) != c.want || b.Conflicts(a) != c.want {
			t.Errorf("%s and %s: want %v", a, b, c.want)
		}
	}
}

// Ports behave as a set of (endpoint, range), whatever is opened and closed.
func TestPortsAreASet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ports, set := model.Ports{}, map[model.PortChange]bool{}
		for range rapid.IntRange(0, 20).Draw(t, "changes") {
			from := rapid.IntRange(1, 5).Draw(t, "from")
			c := model.PortChange{
				Endpoint: rapid.SampledFrom([]string{"", "db"}).Draw(t, "endpoint"),
				Range:    model.PortRange{From: from, To: from, Protocol: rapid.SampledFrom([]string{"tcp", "udp"}).Draw(t, "protocol")},
			}
			set[c] = rapid.Bool().Draw(t, "open")
			if !set[c] {
				delete(set, c)
			}
			_, open := set[c]
			before := ports.Clone()
			next := ports.Apply([]model.PortChange{{Endpoint: c.Endpoint, Range: c.Range, Close: !open}})
			if !reflect.DeepEqual(ports, before) {
				t.Fatal("Apply changed the ports that it was given")
			}
			ports = next
		}
		n := 0
		for ep, ranges := range ports {
			n += len(ranges)
			for _, r := range ranges {
				if !set[model.PortChange{Endpoint: ep, Range: r}] {
					t.Fatalf("%s is open on %q", r, ep)
				}
			}
			if len(ranges) == 0 || !slices.IsSortedFunc(ranges, model.ComparePorts) {
				t.Fatalf("the ranges of %q are %v", ep, ranges)
			}
		}
		if n != len(set) {
			t.Fatalf("%d are open, want %d", n, len(set))
		}
	})
}

func TestConfigOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		option, text string
		want         any // nil: refused
	}{
		{"string", "abc", "abc"}, {"string", "", ""}, {"int", "12", int64(12)}, {"int", "-1", int64(-1)}, {"int", "1.5", nil}, {"int", "abc", nil},
		{"float", "1.5", 1.5}, {"float", "2", 2.0}, {"float", "x", nil},
		{"int", "9007199254740993", int64(1<<53 + 1)}, {"int", "9223372036854775808", nil},
		{"float", "NaN", nil}, {"float", "-inf", nil}, {"float", "1e400", nil}, {"boolean", "true", true}, {"boolean", "yes", nil},
	} {
		charm := model.Charm{Options: map[string]model.ConfigOption{"o": {Type: c.option}}}
		got, err := charm.ParseConfig(map[string]string{"o": c.text})
		switch {
		case c.want == nil && (!errors.Is(err, errors.NotValid) || !strings.Contains(err.Error(), `option "o" expected `+c.option)):
			t.Errorf("%s %q: got %v, %v", c.option, c.text, got, err)
		case c.want != nil && (err != nil || got["o"] != c.want):
			t.Errorf("%s %q: got %#v, %v", c.option, c.text, got["o"], err)
		}
	}
	if _, err := (model.Charm{}).ParseConfig(map[string]string{"o": "1"}); !errors.Is(err, errors.NotValid) || err.Error() != `unknown option "o"` {
		t.Errorf("got %v", err)
	}
}

func TestConfigIsWhatIsSetElseTheDefault(t *testing.T) {
	t.Parallel()
	charm := model.Charm{Options: map[string]model.ConfigOption{
		"set": {Type: "int", Default: 1}, "default": {Type: "int", Default: 2}, "neither": {Type: "string"},
	}}
	got := charm.Config(map[string]any{"set": 3.0, "unknown": "x"}) // 3.0: as JSON decodes it
	want := map[string]any{"set": int64(3), "default": int64(2), "neither": nil}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, want %#v", got, want)
	}
}

func TestConfigFromJSONKeepsEveryDigit(t *testing.T) {
	t.Parallel()
	const big = int64(1<<53 + 1)
	stored, err := json.Marshal(model.ConfigOption{Type: "int", Default: big})
	if err != nil {
		t.Fatal(err)
	}
	var o model.ConfigOption
	if err := json.Unmarshal(stored, &o); err != nil || o.Default != big {
		t.Errorf("the default comes back as %#v, %v", o.Default, err)
	}
	for _, c := range []struct {
		option string
		value  any
		want   any // nil: refused
	}{
		{"int", json.Number("9007199254740993"), big}, {"int", json.Number("3.0"), int64(3)}, {"int", json.Number("3.5"), nil},
		{"float", json.Number("3"), 3.0}, {"float", json.Number("1e400"), nil}, {"string", json.Number("3"), nil}, {"boolean", json.Number("1"), nil},
		{"float", math.NaN(), nil}, {"float", math.Inf(1), nil},
		{"secret", "secret:9m4e2mr0ui3e8a215n4g", "secret:9m4e2mr0ui3e8a215n4g"}, {"secret", "", ""}, {"secret", "hunter2", nil}, {"secret", 1, nil},
	} {
		got, err := model.ConfigOption{Type: c.option}.Coerce("o", c.value)
		if got != c.want || (err == nil) != (c.want != nil) {
			t.Errorf("%s %#v: got %#v, %v", c.option, c.value, got, err)
		}
	}
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	charm := model.Charm{Endpoints: map[string]model.CharmRel{
		"website": {Role: model.Provider, Interface: "http", Scope: model.Global}, "db": {Role: model.Requirer, Interface: "mysql", Scope: model.Global},
	}}
	eps := charm.EndpointsOf("wordpress")
	if got := fmt.Sprint(eps[0], eps[1], eps[2]); len(eps) != 3 || got != "wordpress:db wordpress:juju-info wordpress:website" || !eps[1].Implicit() || eps[0].Implicit() {
		t.Fatalf("got %v", eps)
	}
	db := model.Endpoint{Application: "mysql", Name: "server", Role: model.Provider, Interface: "mysql"}
	if !eps[0].CanRelate(db) || !db.CanRelate(eps[0]) || eps[2].CanRelate(db) || db.CanRelate(db) {
		t.Error("endpoints relate where they should not, or the other way round")
	}
	if a, b := model.RelationKey([]model.Endpoint{db, eps[0]}), model.RelationKey([]model.Endpoint{eps[0], db}); a != b || a != "wordpress:db mysql:server" {
		t.Errorf("got %q and %q", a, b)
	}
}

func TestDeriveStatusTakesTheMostSevere(t *testing.T) {
	t.Parallel()
	// docs/spec/uniter-behaviour.md §9.
	order := []string{"error", "blocked", "maintenance", "waiting", "active", "terminated", "unknown"}
	for i, worse := range order {
		for _, better := range order[i+1:] {
			got := model.DeriveStatus([]model.Status{{Status: better, Message: "b"}, {Status: worse, Message: "w"}})
			if got.Status != worse || got.Message != "w" {
				t.Errorf("of %s and %s: got %+v", better, worse, got)
			}
		}
	}
	if got := model.DeriveStatus(nil); got.Status != model.StatusUnknown {
		t.Errorf("of no units: got %+v", got)
	}
}

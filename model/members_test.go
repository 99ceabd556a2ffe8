package model_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/unitd/unitd/model"
)

func drawMembers(t *rapid.T, label string) (model.Members, map[model.UnitName]int) {
	var m model.Members
	versions := map[model.UnitName]int{}
	for range rapid.IntRange(0, 8).Draw(t, label) {
		u := model.NewUnitName(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "app"), rapid.SampledFrom([]int{0, 2, 10, 11}).Draw(t, "number"))
		v := rapid.IntRange(1, 3).Draw(t, "version")
		m, versions[u] = m.With(u, v), v
	}
	return m, versions
}

// Members are as a map of versions by name would be, in the order of units.
func TestMembersAreAMapInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m, versions := drawMembers(t, "members")
		if want := slices.SortedFunc(maps.Keys(versions), model.CompareUnits); !slices.Equal(m.Units(), want) {
			t.Fatalf("got %v, want %v", m.Units(), want)
		}
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var again model.Members
		if err := json.Unmarshal(b, &again); err != nil || !slices.Equal(again, m) {
			t.Fatalf("%v is read back as %v, %v", m, again, err)
		}
		asMap := map[model.UnitName]int{}
		if err := json.Unmarshal(b, &asMap); err != nil || !maps.Equal(asMap, versions) {
			t.Fatalf("as JSON %s, want %v", b, versions)
		}
		for _, u := range []model.UnitName{"a/0", "a/2", "a/10", "a/11", "b/0", "c/0"} {
			v, ok := m.Version(u)
			want, member := versions[u]
			if v != want || ok != member {
				t.Fatalf("version of %s: %d, %v; want %d, %v", u, v, ok, want, member)
			}
			without := m.Without(u)
			if _, ok := without.Version(u); ok || len(without) > len(m) || member && len(without) != len(m)-1 {
				t.Fatalf("without %s: %v", u, without)
			}
			if len(without) == 0 && without != nil {
				t.Fatal("no members aren't nil")
			}
		}
	})
}

// What has changed since others, applied to them, makes these of them; and
// nobody's members change by it.
func TestMembersAreTheOthersWithWhatHasChanged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		old, was := drawMembers(t, "old")
		now, is := drawMembers(t, "now")
		oldBefore, nowBefore := slices.Clone(old), slices.Clone(now)
		var set []model.Member
		var gone, order []model.UnitName
		for c := range now.Since(old) {
			order = append(order, c.Unit)
			if c.Was != was[c.Unit] || c.Is != is[c.Unit] || c.Was == c.Is {
				t.Fatalf("got %+v, was %d, is %d", c, was[c.Unit], is[c.Unit])
			}
			if c.Is == 0 {
				gone = append(gone, c.Unit)
			} else {
				set = append(set, model.Member{Unit: c.Unit, Version: c.Is})
			}
		}
		if !slices.IsSortedFunc(order, model.CompareUnits) {
			t.Fatalf("in the order %v", order)
		}
		slices.Reverse(set)
		if got := old.Apply(set, gone); !slices.Equal(got, now) {
			t.Fatalf("got %v, want %v", got, now)
		}
		if !reflect.DeepEqual(old, oldBefore) || !reflect.DeepEqual(now, nowBefore) {
			t.Fatal("members have changed")
		}
		for range now.Since(now) {
			t.Fatal("they differ from themselves")
		}
	})
}

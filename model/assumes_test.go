package model

import (
	"slices"
	"testing"

	"github.com/juju/errors"
	"pgregory.net/rapid"
)

func assume(t *testing.T, texts ...string) []Assumption {
	t.Helper()
	var all []Assumption
	for _, text := range texts {
		a, err := ParseAssumption(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

// TestAssumes is what charms assume of a model, and what is said where it doesn't
// hold; K-010 of docs/spec/containers.md.
func TestAssumes(t *testing.T) {
	t.Parallel()
	here := map[string]string{"juju": "3.6.4", "k8s-api": "1.30.0"}
	const because = "Charm cannot be deployed because:\n  - "
	for _, row := range []struct {
		name    string
		assumes []Assumption
		have    map[string]string
		want    string
	}{
		{"nothing is assumed", nil, nil, ""},
		{"a feature that there is", assume(t, "k8s-api"), here, ""},
		{"versions that there are", assume(t, "juju >= 3.6", "juju<4.0", "juju >= 3.6.4", "k8s-api >= 1.29"), here, ""},
		{"K-010 no Kubernetes", assume(t, "k8s-api"), map[string]string{"juju": "3.6.4"}, because + "charm must be deployed on a Kubernetes cloud"},
		{"an older Juju", assume(t, "juju >= 3.10"), here, because + "charm requires Juju version >= 3.10, model has version 3.6.4"},
		{"a newer Juju", assume(t, "juju < 3.6.4"), here, because + "charm requires Juju version < 3.6.4, model has version 3.6.4"},
		{"a feature that nobody knows", assume(t, "teleport"), here, because + `charm requires feature "teleport" but model does not support it`},
		{"several", assume(t, "juju >= 4.0", "teleport"), here, because + "charm requires Juju version >= 4.0, model has version 3.6.4\n  - charm requires feature \"teleport\" but model does not support it"},
		{"one of several is enough", []Assumption{{AnyOf: assume(t, "teleport", "k8s-api")}}, here, ""},
		{"none of several", []Assumption{{AnyOf: assume(t, "teleport", "juju >= 4.0")}}, here, because +
			"charm requires at least one of these, and none holds:\n    - charm requires feature \"teleport\" but model does not support it\n    - charm requires Juju version >= 4.0, model has version 3.6.4"},
		{"all of several", []Assumption{{AllOf: assume(t, "k8s-api", "teleport")}}, here, because + `charm requires feature "teleport" but model does not support it`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			err := CheckAssumes(row.assumes, row.have)
			if row.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || err.Error() != row.want || !errors.Is(err, errors.NotValid) {
				t.Errorf("\n got %v\nwant %s", err, row.want)
			}
		})
	}
}

// TestVersionsAreOrdered from the least to the greatest, whichever two are compared.
func TestVersionsAreOrdered(t *testing.T) {
	t.Parallel()
	order := []string{"2.9", "3", "3.6-alpha1", "3.6-beta1", "3.6-beta2", "3.6-rc1", "3.6", "3.6.0.1", "3.6.4", "3.6.10", "3.10", "10.0"}
	for i, a := range order {
		for j, b := range order {
			if got := compareVersions(a, b); got != slices.Compare([]int{i}, []int{j}) {
				t.Errorf("%s against %s: %d", a, b, got)
			}
		}
	}
}

// TestParseAssumptionTakesWhatItCanCompare: whatever is read can be compared.
func TestParseAssumptionTakesWhatItCanCompare(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`(juju|k8s-api|[ -~]{0,9})( ?(>=|<|=) ?[0-9.a-z-]{0,9})?`).Draw(t, "text")
		a, err := ParseAssumption(text)
		if err != nil {
			return
		}
		if a.Feature == "" || (a.Version == "") != (a.Compare == "") || a.Version != "" && versionParts(a.Version) == nil {
			t.Errorf("%q: %+v", text, a)
		}
	})
}

package resolver_test

import (
	"testing"

	"github.com/unitd/unitd/uniter/resolver"
)

func TestFound(t *testing.T) {
	t.Parallel()
	pending := &resolver.Current{Step: resolver.Pending}
	failed := &resolver.Current{Step: resolver.Failed}
	for _, test := range []struct {
		name     string
		have     resolver.Local
		deployed string
		upgraded bool
	}{
		{"the charm is the journalled one", resolver.Local{Charm: "a", Installed: true}, "a", false},
		{"another charm was deployed just before the kill", resolver.Local{Charm: "a", Installed: true}, "b", true},
		{"another charm was deployed before install ran", resolver.Local{Charm: "a"}, "b", false},
		{"the first charm was deployed just before the kill", resolver.Local{}, "a", false},
		{"an upgrade that is due stays due", resolver.Local{Charm: "b", Installed: true, Upgraded: true}, "b", true},
		{"install had committed, and its end isn't on disk", resolver.Local{Charm: "a", Current: pending}, "b", true},
		{"a forced upgrade in error runs no upgrade-charm", resolver.Local{Charm: "a", Installed: true, Current: failed}, "b", false},
		{"the charm directory is gone", resolver.Local{Charm: "a", Installed: true}, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := resolver.Found(test.have, test.deployed)
			if got.Charm != test.deployed || got.Upgraded != test.upgraded {
				t.Errorf("charm %q, upgraded %v; want %q, %v", got.Charm, got.Upgraded, test.deployed, test.upgraded)
			}
		})
	}
}

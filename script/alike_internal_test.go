package script

import (
	"testing"

	"github.com/unitd/unitd/model"
)

func TestValuesThatDifferInIDsOfRelationsAreAlike(t *testing.T) {
	t.Parallel()
	then := map[string]model.RelationID{"shop:db other:db": 1, "shop:all": 0, "shop:gone other:x": 3}
	now := map[string]model.RelationID{"shop:db other:db": 12, "shop:all": 0, "shop:new other:y": 5}
	for _, c := range []struct {
		was, is string
		want    bool
	}{
		{"[1]", "[12]", true},
		{"[0, 1]", "[0, 12]", true},
		{"[0,1]", "[0,12]", true},
		{`{"1": "a"}`, `{"12": "a"}`, true},
		{"shelf-1", "shelf-12", true},
		{"db:1", "db:12", true},
		{"[1]", "[1, 12]", false},    // what is left of the former one
		{"[1]", "[1]", true},         // not that of a relation
		{"[3]", "[5]", false},        // another relation
		{"1", "12", false},           // how many there are
		{"1 of 2", "12 of 2", false}, // prose
		{"10.0.0.1", "10.0.0.12", false},
		{"v1.1", "v12.12", false},
		{"", "12", false},
	} {
		if got := c.was == c.is || alike(c.was, c.is, then, now); got != c.want {
			t.Errorf("%q and %q: %v", c.was, c.is, got)
		}
	}
}

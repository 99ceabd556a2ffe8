package state

import (
	"fmt"
	"slices"
	"testing"

	"github.com/unitd/unitd/model"
)

func TestWhichKeysOfADatabagHaveMoved(t *testing.T) {
	t.Parallel()
	steps := []model.Settings{
		{"host": "a", "port": "1"},
		{"host": "b", "port": "1"},
		{"host": "b"},
		{"host": "b", "user": "u"},
	}
	var m moved
	before := model.Settings{}
	for i, bag := range steps {
		m = m.after(before, bag, i+1)
		before = bag
	}
	for since, want := range map[int][]string{
		0: {"host", "port", "user"},
		1: {"host", "port", "user"},
		2: {"port", "user"},
		3: {"user"},
		4: nil,
	} {
		if got := m.since(since); !slices.Equal(got, want) {
			t.Errorf("since version %d: %v, want %v", since, got, want)
		}
	}
}

func TestTheNewestMovesAreKeptWhereThereAreVeryMany(t *testing.T) {
	t.Parallel()
	var m moved
	bag := model.Settings{}
	for i := range 1000 {
		next := bag.Clone()
		next[fmt.Sprintf("key-%04d", i)] = "x"
		m = m.after(bag, next, i+1)
		bag = next
	}
	if got := m.since(998); !slices.Equal(got, []string{"key-0998", "key-0999"}) {
		t.Errorf("the newest two: %v", got)
	}
	if len(m) == 0 || len(m) > 40 {
		t.Errorf("%d are kept", len(m))
	}
}

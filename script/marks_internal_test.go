package script

import (
	"maps"
	"testing"
)

// TestEachStorageIsAFactOfItsOwn, whatever its id, so that one that is missing is seen.
func TestEachStorageIsAFactOfItsOwn(t *testing.T) {
	t.Parallel()
	got := storageSight(map[string][]string{"storage of app/0 data": {"pending", "attached"}, "storage of app/1 data": {"attached"}})
	want := map[string]sighted{
		"storage of app/0 data":    {sightStorage, "attached"},
		"storage of app/0 data #2": {sightStorage, "pending"},
		"storage of app/1 data":    {sightStorage, "attached"},
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

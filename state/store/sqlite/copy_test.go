package sqlite_test

import (
	"os"
	"testing"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/sqlite"
)

func TestCopyIsTheStoreAsItWas(t *testing.T) {
	t.Parallel()
	s := open(t, dbPath(t), sqlite.Options{})
	lend(t, s, "leased")
	rev := update(t, s, func(tx store.Tx) error { return tx.Put("a", []byte("1")) })
	path := dbPath(t)
	if err := s.CopyTo(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	update(t, s, func(tx store.Tx) error { return tx.Put("a", []byte("2")) })
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy is %v, %v: not for its owner alone", info, err)
	}
	c := open(t, path, sqlite.Options{})
	if a, leased := value(t, c, "a"), value(t, c, "leased"); a != "1" || leased != "v" {
		t.Errorf("the copy has %q and %q", a, leased)
	}
	if got := update(t, c, func(tx store.Tx) error { return tx.Put("a", []byte("3")) }); got != rev+1 {
		t.Errorf("the copy goes on at revision %d, want %d", got, rev+1)
	}
	if value(t, s, "a") != "2" {
		t.Error("a write to the copy is in the original")
	}
	if err := s.CopyTo(t.Context(), path); err == nil {
		t.Error("a file that is there was written over")
	}
}

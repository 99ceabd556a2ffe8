package etcd_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/etcd"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
)

func openError(t *testing.T, url string) error {
	t.Helper()
	o, err := etcd.ParseURL(url, nil)
	if err != nil {
		return err
	}
	// Handshakes that fail are tried again for as long as there is time.
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	s, err := etcd.Open(ctx, o)
	if err == nil {
		s.Close()
	}
	return err
}

func TestConnectionsAreEncryptedAndBothSidesShowCertificates(t *testing.T) {
	t.Parallel()
	ca, base := etcdtest.Secured(t, t.TempDir())
	s := open(t, ca.As(t, base, "somebody"))
	put(t, s, "a")
	if got := value(t, s, "a"); got != "v" {
		t.Errorf("the key has %q", got)
	}
	other := etcdtest.NewAuthority(t, t.TempDir())
	otherCert, otherKey := other.Sign(t, "somebody")
	plain, _, _ := strings.Cut(base, "?")
	for name, url := range map[string]string{
		"without a certificate":          base,
		"without encryption":             plain,
		"with another one's certificate": base + "&cert=" + otherCert + "&key=" + otherKey,
		"to a server of somebody else":   plain + "?ca=" + other.CA() + "&cert=" + otherCert + "&key=" + otherKey,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if openError(t, url) == nil {
				t.Error("it was opened")
			}
		})
	}
}

// model is the access of an agent to one model, as the command line gives it.
func model(id string) store.Rights {
	return store.Rights{{Keys: store.Below("m/" + id + "/"), Write: true}, {Keys: store.Below("models/")}, {Keys: store.Only("models/" + id), Write: true}}
}

func TestAUserDoesWhatItMayAndNothingElse(t *testing.T) {
	t.Parallel()
	ca, base := etcdtest.Secured(t, t.TempDir())
	root := open(t, ca.As(t, base, "root"))
	put(t, root, "m/1/unit/a", "m/2/unit/a", "models/1", "models/2")
	etcdtest.EnableUsers(t, ca.As(t, base, "root"))
	add := func(name, password string, access store.Rights) {
		t.Helper()
		if err := root.AddUser(t.Context(), name, password, access); err != nil {
			t.Fatal(err)
		}
	}
	add("agent-1", "", store.Everything()) // a former one, of whom the role is left
	etcd.DeleteUser(t.Context(), root, "agent-1")
	add("agent-1", "", model("1"))
	add("agent-2", "sesame", model("2"))
	add("reader", "sesame", store.Rights{{Keys: store.Below("")}})
	add("admin", "", store.Everything())
	if err := root.AddUser(t.Context(), "reader", "x", nil); !errors.Is(err, errors.AlreadyExists) {
		t.Errorf("a second user of the name gives %v", err)
	}
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stores := map[string]*etcd.Store{
		"agent-1": open(t, ca.As(t, base, "agent-1")),
		"agent-2": open(t, ca.As(t, base, "anybody")+"&user=agent-2&password-file="+password),
		"reader":  open(t, ca.As(t, base, "anybody")+"&user=reader&password-file="+password),
		"admin":   open(t, ca.As(t, base, "admin")),
	}
	for _, tt := range []struct {
		user, read, write string
		may               bool
	}{
		{"agent-1", "m/1/unit/", "m/1/unit/b", true},
		{"agent-1", "models/", "m/1/unit/b", true},
		{"agent-1", "models/", "models/1", true},
		{"agent-1", "", "", false},
		{"agent-1", "m/2/unit/", "", false},
		{"agent-1", "m/1/unit/", "m/2/unit/b", false},
		{"agent-1", "m/1/unit/", "models/2", false},
		{"agent-2", "m/2/", "m/2/unit/b", true},
		{"agent-2", "m/1/unit/", "", false},
		{"reader", "", "", true},
		{"reader", "", "m/1/unit/b", false},
		{"admin", "", "models/3", true},
	} {
		t.Run(fmt.Sprintf("%s reads %q and writes %q: %v", tt.user, tt.read, tt.write, tt.may), func(t *testing.T) {
			s := stores[tt.user]
			_, err := s.Update(t.Context(), func(tx store.Tx) error {
				if _, err := tx.List(tt.read); err != nil || tt.write == "" {
					return err
				}
				// What is deleted leaves a mark; and it reads more than can be
				// compared one by one.
				for i := range 150 {
					if _, err := tx.Get(fmt.Sprint(tt.write, "/", i)); err != nil && !errors.Is(err, errors.NotFound) {
						return err
					}
				}
				return tx.Put(tt.write, nil)
			})
			if tt.may && err != nil {
				t.Error(err)
			}
			if !tt.may && !errors.Is(err, errors.Unauthorized) {
				t.Errorf("it gives %v, want it to be refused", err)
			}
			if tt.may && tt.write != "" {
				remove(t, s, tt.write)
			}
		})
	}
	lends(t, stores["agent-1"])
	if err := root.RemoveUser(t.Context(), "agent-2"); err != nil {
		t.Fatal(err)
	}
	if err := root.RemoveUser(t.Context(), "agent-2"); !errors.Is(err, errors.NotFound) {
		t.Errorf("removing it again gives %v", err)
	}
	etcd.DeleteUser(t.Context(), root, "reader")
	if err := root.RemoveUser(t.Context(), "reader"); !errors.Is(err, errors.NotFound) {
		t.Errorf("removing one of whom the role is left gives %v", err)
	}
	if etcd.HasRole(t.Context(), root, "reader") {
		t.Error("the role of a user who was removed is left")
	}
	if openError(t, ca.As(t, base, "anybody")+"&user=agent-2&password-file="+password) == nil {
		t.Error("a user who was removed is let in")
	}
}

// lends checks that a user can use leases and watches.
func lends(t *testing.T, s store.Store) {
	t.Helper()
	id, err := s.Grant(t.Context(), 1e12)
	if err != nil {
		t.Fatal(err)
	}
	ch, err := s.Watch(t.Context(), []store.Keys{store.Below("m/1/")}, 0)
	if err != nil {
		t.Fatal(err)
	}
	rev := update(t, s, func(tx store.Tx) error { return tx.PutLease("m/1/leader/x", nil, id) })
	if keys, _ := told(t, ch, rev); keys != "m/1/leader/x " {
		t.Errorf("told of %q", keys)
	}
	if err := s.KeepAlive(t.Context(), id); err != nil {
		t.Error(err)
	}
	if err := s.Revoke(t.Context(), id); err != nil {
		t.Error(err)
	}
}

package agent

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/sealed"
)

// sharing is a host that has joined, and one that gives it keys.
type sharing struct {
	*testing.T
	main, joined *sharedKeys
	whose        machine.KeysFor
}

func newSharing(t *testing.T) *sharing {
	t.Helper()
	s := &sharing{T: t, main: &sharedKeys{dir: t.TempDir()}, joined: &sharedKeys{dir: t.TempDir()}}
	recipient, err := s.joined.Recipient()
	s.ok(err)
	s.whose = machine.KeysFor{Model: "m", Machine: "1", Agent: "a", Recipient: recipient}
	return s
}

func (s *sharing) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// give gives the keys, and returns the names of those.
func (s *sharing) give() []string {
	s.Helper()
	text, names, err := s.main.Seal(s.whose)
	s.ok(err)
	s.ok(s.joined.Take(text, s.whose))
	return names
}

// has are the names of the host that has joined.
func (s *sharing) has() []string {
	s.Helper()
	names, err := s.joined.Names()
	s.ok(err)
	return names
}

func TestAHostThatHasJoinedHasTheKeysOfTheOther(t *testing.T) {
	t.Parallel()
	s := newSharing(t)
	first := s.give()
	if !slices.Equal(s.has(), first) || len(first) != 1 {
		t.Errorf("it has %v of %v", s.has(), first)
	}
	s.ok(addSecretKey(s.main.dir))
	both := s.give()
	if !slices.Equal(s.has(), both) || len(both) != 2 || both[1] != first[0] {
		t.Errorf("it has %v of %v", s.has(), both)
	}
	s.ok(dropOldSecretKeys(s.main.dir))
	if one := s.give(); !slices.Equal(s.has(), one) || !slices.Equal(one, both[:1]) {
		t.Errorf("at the end it has %v of %v", s.has(), one)
	}
}

// TestWhatAHostHasOfItsOwnItKeeps: something may be sealed with it that nobody else can open.
func TestWhatAHostHasOfItsOwnItKeeps(t *testing.T) {
	t.Parallel()
	s := newSharing(t)
	_, err := sealed.ReadOrMake(secretKeyFile(s.joined.dir))
	s.ok(err)
	own := s.has()
	first := s.give()
	if !slices.Equal(s.has(), append(slices.Clone(first), own...)) {
		t.Errorf("it has %v of %v and its own %v", s.has(), first, own)
	}
	s.ok(addSecretKey(s.main.dir))
	s.ok(dropOldSecretKeys(s.main.dir))
	second := s.give()
	if !slices.Equal(s.has(), append(slices.Clone(second), own...)) {
		t.Errorf("then it has %v of %v and its own %v", s.has(), second, own)
	}
}

func TestKeysForSomebodyElseAreNotTaken(t *testing.T) {
	t.Parallel()
	s := newSharing(t)
	text, _, err := s.main.Seal(s.whose)
	s.ok(err)
	for what, whose := range map[string]machine.KeysFor{
		"another model":   {Model: "n", Machine: "1", Agent: "a", Recipient: s.whose.Recipient},
		"another machine": {Model: "m", Machine: "2", Agent: "a", Recipient: s.whose.Recipient},
		"another agent":   {Model: "m", Machine: "1", Agent: "b", Recipient: s.whose.Recipient},
	} {
		if err := s.joined.Take(text, whose); !errors.Is(err, errors.NotValid) {
			t.Errorf("those for %s: %v", what, err)
		}
	}
	stranger := &sharedKeys{dir: t.TempDir()}
	if err := stranger.Take(text, s.whose); !errors.Is(err, errors.NotValid) {
		t.Errorf("a stranger takes them: %v", err)
	}
	if matches, _ := filepath.Glob(filepath.Join(stranger.dir, "secret.key")); len(matches) > 0 {
		t.Error("it has them")
	}
	given := &sharedKeys{dir: t.TempDir(), given: true}
	if recipient, err := given.Recipient(); err != nil || recipient != "" {
		t.Errorf("a host that was given its keys wants others: %q, %v", recipient, err)
	}
}

package relation_test

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/juju/errors"
	"pgregory.net/rapid"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/relation"
)

const self = model.UnitName("a/0")

// The rows below are written in a small language.
//
//	have: the hooks that have committed: "created; joined b/0@1; changed b@2"
//	now:  what the model says: members with their versions "b/0@2 b/1@1", the
//	      other application's settings "b@3", and of the relation "dying" (or
//	      suspended), "implicit", "peer"; "leaving" is said of the unit
//	want: every hook that then runs until none is due
var table = []struct{ name, have, now, want string }{
	{"created runs first, once, without a unit", "", "", "created"},
	{"nothing is due when all was told", "created; joined b/0@1; changed b/0@1", "b/0@1", ""},
	{"a unit that is first seen joins, and its changed follows", "created", "b/0@1", "joined b/0@1; changed b/0@1"},
	{"units join by name, in the order of their numbers", "", "b/10@1 b/2@1", "created; joined b/2@1; changed b/2@1; joined b/10@1; changed b/10@1"},
	{"the changed after joined tells the newest version", "created; joined b/0@1", "b/0@3", "changed b/0@3"},
	{"three changes of settings make one changed", "created; joined b/0@1; changed b/0@1", "b/0@4", "changed b/0@4"},
	{"a version that is lower is a change as well", "created; joined b/0@3; changed b/0@3", "b/0@1", "changed b/0@1"},
	{"changed runs by name", "created; joined b/0@1; changed b/0@1; joined b/1@1; changed b/1@1", "b/0@2 b/1@2", "changed b/0@2; changed b/1@2"},
	{"the owed changed comes before another unit's joined", "created; joined b/1@1", "b/0@1 b/1@1", "changed b/1@1; joined b/0@1; changed b/0@1"},
	{"the owed changed comes before the application's changed", "created; joined b/0@1", "b/0@1 b@1", "changed b/0@1; changed b@1"},
	{"a changed is run after a joined even if the unit has left", "created; joined b/0@1", "", "changed b/0@1; departed b/0"},
	{"a changed is run after a joined even if the relation is going", "created; joined b/0@2", "b/0@2 dying", "changed b/0@2; departed b/0; broken"},
	{"a changed is run after a joined even if the unit is leaving", "created; joined b/0@1", "b/0@1 leaving", "changed b/0@1; departed b/0 as a/0; broken"},
	{"a unit that left departs", "created; joined b/0@1; changed b/0@1", "", "departed b/0"},
	{"units depart by name", "created; joined b/10@1; changed b/10@1; joined b/2@1; changed b/2@1", "", "departed b/2; departed b/10"},
	{"departed comes before another unit's joined", "created; joined b/1@1; changed b/1@1", "b/0@1", "departed b/1; joined b/0@1; changed b/0@1"},
	{"departed comes before another unit's changed", "created; joined b/0@1; changed b/0@1; joined b/1@1; changed b/1@1", "b/0@2", "departed b/1; changed b/0@2"},
	{"departed comes before the application's changed", "created; joined b/0@1; changed b/0@1", "b@1", "departed b/0; changed b@1"},
	{"the application's changed comes before joined", "created", "b/0@1 b@2", "changed b@2; joined b/0@1; changed b/0@1"},
	{"the application's changed comes before a unit's", "created; joined b/0@1; changed b/0@1", "b/0@2 b@1", "changed b@1; changed b/0@2"},
	{"application settings that were never written fire nothing", "created", "b@0", ""},
	{"joined comes before another unit's changed", "created; joined b/1@1; changed b/1@1", "b/0@1 b/1@2", "joined b/0@1; changed b/0@1; changed b/1@2"},
	{"a unit that joined and left unseen makes no hook", "created", "", ""},
	{"all members of a relation that is going depart, then it is broken", "created; joined b/0@1; changed b/0@1; joined b/1@1; changed b/1@1", "b/0@1 b/1@1 dying", "departed b/0; departed b/1; broken"},
	{"broken may be the first hook after created", "created", "dying", "broken"},
	{"a relation that is going brings no joined", "created", "b/0@1 dying", "broken"},
	{"a relation that is going brings no changed", "created; joined b/0@1; changed b/0@1", "b/0@2 b@1 dying", "departed b/0; broken"},
	{"a relation that was never told of is not broken", "", "b/0@1 dying", ""},
	{"a unit that leaves before created was told of nothing", "", "b/0@1 leaving", ""},
	{"it is the local unit that departs when it leaves", "created; joined b/0@1; changed b/0@1", "b/0@1 leaving", "departed b/0 as a/0; broken"},
	{"it is the local unit that departs even from one that left too", "created; joined b/0@1; changed b/0@1", "leaving", "departed b/0 as a/0; broken"},
	{"it is the remote unit that departs when the relation goes", "created; joined b/0@1; changed b/0@1", "b/0@1 dying", "departed b/0; broken"},
	{"an implicit endpoint has no hooks", "", "b/0@1 b@1 implicit", ""},
	{"an implicit endpoint is left without a hook", "", "b/0@1 implicit dying", ""},
	{"an implicit endpoint is left without a hook by a unit that was told of it once", "created; joined b/0@1", "implicit leaving", ""},
	{"peers depart and break like others", "created; joined a/1@1; changed a/1@1", "a/1@1 leaving peer", "departed a/1 as a/0; broken"},
	{"a unit that comes again joins again", "created; joined b/0@1; changed b/0@1; departed b/0", "b/0@2", "joined b/0@2; changed b/0@2"},
}

func TestNext(t *testing.T) {
	t.Parallel()
	for _, row := range table {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			l, now := parseNow(t, row.now)
			s := relation.New(now)
			for _, h := range parseHooks(t, row.have) {
				must(t, s.Validate(h))
				s = s.After(h)
			}
			var got []string
			for range 20 {
				h, due := relation.Next(l, s, now)
				if !due {
					break
				}
				must(t, s.Validate(h))
				must(t, h.Validate())
				got = append(got, format(h))
				s = s.After(h)
				if h.Kind == hooks.RelationBroken {
					break
				}
			}
			if got := strings.Join(got, "; "); got != row.want {
				t.Errorf("have %q, now %q:\n got %q\nwant %q", row.have, row.now, got, row.want)
			}
		})
	}
}

func TestNextFillsInTheHook(t *testing.T) {
	t.Parallel()
	now := relation.Snapshot{ID: 7, Endpoint: "db", RemoteApp: "b", Live: true, Members: model.Members{{Unit: "b/0", Version: 3}}}
	s := relation.New(now).After(hooks.Info{Kind: hooks.RelationCreated, RelationID: 7})
	h, due := relation.Next(relation.Local{Unit: self}, s, now)
	want := hooks.Info{
		Kind: hooks.RelationJoined, Endpoint: "db", RelationID: 7, RemoteApp: "b", RemoteUnit: "b/0", Version: 3, Cause: "b/0 joined",
	}
	if !due || h != want {
		t.Errorf("got %+v, %v", h, due)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, have, hook, want string }{
		{"created may be the first", "", "created", ""},
		{"created may not run twice", "created", "created", "a second time"},
		{"nothing may run before created", "", "joined b/0@1", "before created"},
		{"broken may not run before created", "", "broken", "before created"},
		{"a unit may join", "created", "joined b/0@1", ""},
		{"a member may not join", "created; joined b/0@1; changed b/0@1", "joined b/0@1", "has joined"},
		{"the owed changed may run", "created; joined b/0@1", "changed b/0@2", ""},
		{"another unit's changed may not run while one is owed", "created; joined b/0@1; changed b/0@1; joined b/1@1", "changed b/0@2", "is owed its changed"},
		{"the application's changed may not run while one is owed", "created; joined b/0@1", "changed b@1", "is owed its changed"},
		{"departed may not run while changed is owed", "created; joined b/0@1", "departed b/0", "is owed its changed"},
		{"the application's changed needs no member", "created", "changed b@1", ""},
		{"changed of a stranger may not run", "created", "changed b/0@1", "hasn't joined"},
		{"departed of a stranger may not run", "created", "departed b/0", "hasn't joined"},
		{"departed may run once", "created; joined b/0@1; changed b/0@1; departed b/0", "departed b/0", "hasn't joined"},
		{"broken may not run with a member", "created; joined b/0@1; changed b/0@1", "broken", "with 1 members"},
		{"broken may run without members", "created", "broken", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, now := parseNow(t, "")
			s := relation.New(now)
			for _, h := range parseHooks(t, c.have) {
				s = s.After(h)
			}
			err := s.Validate(parseHooks(t, c.hook)[0])
			if c.want == "" {
				must(t, err)
			} else if !errors.Is(err, errors.NotValid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestValidateRefusesAHookOfAnotherRelation(t *testing.T) {
	t.Parallel()
	err := relation.State{ID: 1, Endpoint: "db"}.Validate(hooks.Info{Kind: hooks.RelationCreated, Endpoint: "db", RelationID: 2})
	if !errors.Is(err, errors.NotValid) {
		t.Errorf("got %v", err)
	}
}

func TestDuring(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, have, hook, want string }{
		{"a unit that joins is a member already", "created", "joined b/0@1", "[b/0]"},
		{"a unit that departs is a member no longer", "created; joined b/0@1; changed b/0@1; joined b/1@1; changed b/1@1", "departed b/0", "[b/1]"},
		{"changed leaves the members as they are", "created; joined b/0@1", "changed b/0@1", "[b/0]"},
		{"created has none", "", "created", "[]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, now := parseNow(t, "")
			s := relation.New(now)
			for _, h := range parseHooks(t, c.have) {
				s = s.After(h)
			}
			if got := fmt.Sprint(s.During(parseHooks(t, c.hook)[0]).Units()); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestDuringAHookOfAnotherRelationNothingIsDifferent(t *testing.T) {
	t.Parallel()
	s := relation.State{ID: 1, Members: model.Members{{Unit: "b/0", Version: 1}}}
	if got := s.During(hooks.Info{Kind: hooks.RelationDeparted, RelationID: 2, RemoteUnit: "b/0"}); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

// Whatever the model says and the unit was told, Next gives the same hook each
// time, the hook is valid, and neither it nor After changes what it was given.
func TestNextIsAPureFunction(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := relation.Local{Unit: self, Leaving: rapid.Bool().Draw(t, "leaving")}
		s := relation.New(relation.Snapshot{ID: 1, Endpoint: "db", RemoteApp: "b"})
		for range rapid.IntRange(0, 30).Draw(t, "hooks") {
			now := drawSnapshot(t)
			h, due := relation.Next(l, s, now)
			before := s
			before.Members = slices.Clone(s.Members)
			for range 20 {
				if again, dueAgain := relation.Next(l, s, now); again != h || dueAgain != due {
					t.Fatalf("got %v, then %v", h, again)
				}
			}
			if !due {
				continue
			}
			if err := cmp.Or(h.Validate(), s.Validate(h)); err != nil {
				t.Fatal(err)
			}
			next := s.After(h)
			if !reflect.DeepEqual(before, s) {
				t.Fatalf("%v changed the state it was given", h)
			}
			if h.Kind == hooks.RelationBroken {
				next = relation.New(now)
			}
			s = next
		}
	})
}

func drawSnapshot(t *rapid.T) relation.Snapshot {
	now := relation.Snapshot{ID: 1, Endpoint: "db", RemoteApp: "b", Live: rapid.IntRange(0, 5).Draw(t, "live") > 0}
	now.Application = rapid.IntRange(0, 2).Draw(t, "application")
	for i := range 3 {
		if v := rapid.IntRange(0, 3).Draw(t, "version"); v > 0 {
			now.Members = now.Members.With(model.NewUnitName("b", i), v)
		}
	}
	return now
}

func parseNow(t *testing.T, text string) (relation.Local, relation.Snapshot) {
	t.Helper()
	l, now := relation.Local{Unit: self}, relation.Snapshot{ID: 1, Endpoint: "db", RemoteApp: "b", Live: true, InScope: true}
	for _, w := range strings.Fields(text) {
		who, version := parseVersioned(t, w)
		switch {
		case w == "leaving":
			l.Leaving = true
		case w == "dying":
			now.Live = false
		case w == "implicit":
			now.Implicit = true
		case w == "peer":
			now.Peer, now.RemoteApp = true, self.Application()
		case strings.Contains(who, "/"):
			now.Members = now.Members.With(model.UnitName(who), version)
		case who == "b":
			now.Application = version
		default:
			t.Fatalf("what is %q?", w)
		}
	}
	return l, now
}

func parseHooks(t *testing.T, text string) []hooks.Info {
	t.Helper()
	var parsed []hooks.Info
	for _, step := range strings.Split(text, ";") {
		words := strings.Fields(step)
		if len(words) == 0 {
			continue
		}
		h := hooks.Info{Kind: hooks.Kind("relation-" + words[0]), Endpoint: "db", RelationID: 1, RemoteApp: "b"}
		if len(words) > 1 {
			who, version := parseVersioned(t, words[1])
			h.Version = version
			if strings.Contains(who, "/") {
				h.RemoteUnit = model.UnitName(who)
			}
		}
		must(t, h.Validate())
		parsed = append(parsed, h)
	}
	return parsed
}

func parseVersioned(t *testing.T, word string) (string, int) {
	t.Helper()
	who, version, versioned := strings.Cut(word, "@")
	if !versioned {
		return who, 0
	}
	v, err := strconv.Atoi(version)
	must(t, err)
	return who, v
}

// format writes a hook as the table has it.
func format(h hooks.Info) string {
	short := strings.TrimPrefix(string(h.Kind), "relation-")
	switch h.Kind {
	case hooks.RelationCreated, hooks.RelationBroken:
		return short
	case hooks.RelationDeparted:
		if h.Departing == h.RemoteUnit {
			return fmt.Sprintf("%s %s", short, h.RemoteUnit)
		}
		return fmt.Sprintf("%s %s as %s", short, h.RemoteUnit, h.Departing)
	}
	return fmt.Sprintf("%s %s@%d", short, cmp.Or(string(h.RemoteUnit), h.RemoteApp), h.Version)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

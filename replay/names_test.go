package replay_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/unitd/unitd/replay"
)

// names are those of a world.
func names(world string) replay.Names {
	return replay.NewNames(map[string]string{"world": "/tmp/" + world, "charm": "/tmp/" + world + "/unit/charm", "model": "uuid-" + world, "none": ""})
}

func TestNamesOfOneWorldAreThoseOfAnother(t *testing.T) {
	t.Parallel()
	one, other := names("one"), names("other-one")
	for text, want := range map[string]string{
		"":                                "",
		"nothing of the kind":             "nothing of the kind",
		"at /tmp/one/unit/charm/src/x.py": "at /tmp/other-one/unit/charm/src/x.py",
		"/tmp/one/log of uuid-one":        "/tmp/other-one/log of uuid-other-one",
	} {
		hidden, ok := one.Hide(text)
		if !ok {
			t.Errorf("%q can't be hidden", text)
		}
		if got := other.Show(hidden); got != want {
			t.Errorf("%q is %q in the other world, want %q", text, got, want)
		}
		again, _ := other.Hide(want)
		if again != hidden {
			t.Errorf("%q and %q are %q and %q", text, want, hidden, again)
		}
		if one.In([]byte(text)) != (hidden != text) {
			t.Errorf("%q has a name of its world: %v", text, one.In([]byte(text)))
		}
	}
	for _, text := range []string{"\xff", "\x00<world>\x00"} {
		if hidden, ok := one.Hide(text); ok {
			t.Errorf("%q is hidden as %q", text, hidden)
		}
	}
}

func TestWhatIsHiddenComesBack(t *testing.T) {
	t.Parallel()
	n := names("one")
	rapid.Check(t, func(t *rapid.T) {
		text := ""
		for _, part := range rapid.SliceOf(rapid.SampledFrom([]string{"/tmp/one", "/unit/charm", "uuid-one", "/tmp", "<", "\x00", ">\x00", "world", "é", "\n"})).Draw(t, "parts") {
			text += part
		}
		if hidden, ok := n.Hide(text); ok && n.Show(hidden) != text {
			t.Fatalf("%q is %q", text, n.Show(hidden))
		}
	})
}

func TestAnEnvironmentIsTheSameInAnyOrder(t *testing.T) {
	t.Parallel()
	without := func(name string) bool { return name == "RUN" }
	one, ok := names("one").Environment([]string{"B=/tmp/one/x", "A=1", "RUN=7"}, without)
	other, fine := names("other").Environment([]string{"A=1", "RUN=8", "B=/tmp/other/x"}, without)
	if one != other || !ok || !fine {
		t.Errorf("%q and %q", one, other)
	}
	if _, ok := names("one").Environment([]string{"A=\xff"}, without); ok {
		t.Error("what is no text is remembered")
	}
	if replay.Key("ab", "c") == replay.Key("a", "bc") {
		t.Error("two starts have the same key")
	}
}

package charmhub_test

import (
	"testing"

	"github.com/unitd/unitd/charmhub"
)

func TestChannelsAreRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want, err string }{
		{"stable", "stable", ""},
		{"edge", "edge", ""},
		{"14", "14/stable", ""},
		{"14/edge", "14/edge", ""},
		{"latest/stable", "latest/stable", ""},
		{"edge/fix", "edge/fix", ""},
		{"14/edge/fix-2", "14/edge/fix-2", ""},
		{"1.0_x", "1.0_x/stable", ""},
		{"", "", "empty channel not valid"},
		{"14/bad", "", `risk in channel "14/bad" not valid`},
		{"/edge", "", `track in channel "/edge" not valid`},
		{"a b/edge", "", `track in channel "a b/edge" not valid`},
		{"edge/", "", `branch in channel "edge/" not valid`},
		{"14/edge/", "", `branch in channel "14/edge/" not valid`},
		{"/edge/x", "", `track in channel "/edge/x" not valid`},
		{"a/b/c/d", "", `channel is malformed and has too many components "a/b/c/d"`},
	} {
		got, err := charmhub.ParseChannel(c.text)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if got.String() != c.want || said != c.err {
			t.Errorf("%q: got %q, %q, want %q, %q", c.text, got, said, c.want, c.err)
		}
		if again, err := charmhub.ParseChannel(got.String()); c.err == "" && (err != nil || again != got) {
			t.Errorf("%q: reading %q again gives %q, %v", c.text, got, again, err)
		}
	}
}

func TestARiskAloneStaysInTheTrackThatIsFollowed(t *testing.T) {
	t.Parallel()
	followed := charmhub.Channel{Track: "14", Risk: "stable"}
	for text, want := range map[string]string{"edge": "14/edge", "15/edge": "15/edge", "15": "15/stable"} {
		c, err := charmhub.ParseChannel(text)
		if got := c.Of(followed).String(); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestNamesOfCharms(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"ledger": true, "postgresql-k8s": true, "a1-b2c": true, "Ledger": false, "": false, "ledger-41": false, "../x": false, "a_b": false, "-a": false, "a--b": false,
	} {
		if got := charmhub.ValidName(name); got != want {
			t.Errorf("%q: got %v", name, got)
		}
	}
	for name, want := range map[string]bool{"ledger-41": true, "ledger": false, "postgresql-k8s": false, "-1": false} {
		if got := charmhub.NamesRevision(name); got != want {
			t.Errorf("%q names a revision: got %v", name, got)
		}
	}
}

package hookcontext_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

// writers write settings of each kind.
func writers(c *hookcontext.Context) map[string]func(map[string]string) error {
	return map[string]func(map[string]string) error{
		"relation settings":    func(s map[string]string) error { return c.SetUnitSettings(3, s) },
		"application settings": func(s map[string]string) error { return c.SetApplicationSettings(3, s) },
		"leader settings":      func(s map[string]string) error { return c.SetLeaderSettings(s) },
		"state":                c.SetState,
	}
}

// many are values of 60,000 bytes each, which a key of the state may have.
func many(n int, char string) map[string]string {
	values := map[string]string{}
	for i := range n {
		values["k"+string(rune('a'+i))] = strings.Repeat(char, 60000/len(char))
	}
	return values
}

func TestWhatCannotBeStoredIsRefusedAtTheCall(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		before map[string]string // committed
		writes []map[string]string
		kind   error // of the last write; nil: none is refused
	}{
		{name: "what just fits", writes: []map[string]string{many(17, "x")}},
		{name: "text that only HTML would escape", writes: []map[string]string{many(17, "<")}},
		{name: "too much at once", writes: []map[string]string{many(18, "x")}, kind: errors.QuotaLimitExceeded},
		{name: "too much when it is escaped", writes: []map[string]string{many(9, "\x01")}, kind: errors.QuotaLimitExceeded},
		{name: "too much together", writes: []map[string]string{many(17, "x"), {"z": strings.Repeat("x", 60000)}}, kind: errors.QuotaLimitExceeded},
		{name: "too much with what was there", before: map[string]string{"old": strings.Repeat("x", 1<<20-100_000)},
			writes: []map[string]string{many(2, "x")}, kind: errors.QuotaLimitExceeded},
		{name: "much in the place of what was there", before: many(17, "x"), writes: []map[string]string{many(17, "y")}},
		{name: "a value that isn't UTF-8", writes: []map[string]string{{"a": "\xff\xfe"}}, kind: errors.NotValid},
		{name: "a key that isn't UTF-8", writes: []map[string]string{{"\xff": "a"}}, kind: errors.NotValid},
	} {
		for what := range writers(nil) {
			t.Run(tt.name+" of "+what, func(t *testing.T) {
				t.Parallel()
				view := newChanging()
				if view.bag, view.state = tt.before, tt.before; tt.before == nil {
					view.bag, view.state = model.Settings{}, map[string]string{}
				}
				c := newContext(view)
				write := writers(c)[what]
				last := len(tt.writes) - 1
				for _, w := range tt.writes[:last] {
					must(t, write(w))
				}
				before := c.Changes()
				err := write(tt.writes[last])
				if tt.kind == nil {
					must(t, err)
					return
				}
				if !errors.Is(err, tt.kind) {
					t.Errorf("error %v, want %v", err, tt.kind)
				}
				if !reflect.DeepEqual(c.Changes(), before) {
					t.Error("what was refused is written in part")
				}
			})
		}
	}
}

func TestARefusalSaysHowMuchIsTooMuch(t *testing.T) {
	t.Parallel()
	c := newContext(newChanging())
	big := map[string]string{"k": strings.Repeat("x", 1200000)}
	mustFail(t, "relation settings", c.SetUnitSettings(3, big), errors.QuotaLimitExceeded,
		"cannot write relation settings: max allowed settings size (1047552) exceeded by 152464")
	mustFail(t, "not UTF-8", c.SetState(map[string]string{"k": "\xff"}), errors.NotValid,
		`value for key "k" in charm state contains non-UTF-8 sequences`)
}

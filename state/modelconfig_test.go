package state_test

import (
	"testing"

	"github.com/juju/errors"
)

func TestModelConfig(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		set   map[string]string
		reset []string
		key   string
		want  string
		isSet bool
		fails string
	}{
		{name: "update-status runs every five minutes by default", key: "update-status-hook-interval", want: "5m"},
		{name: "hooks are retried by default", key: "automatically-retry-hooks", want: "true"},
		{name: "a value that was set wins over the default", key: "update-status-hook-interval",
			set: map[string]string{"update-status-hook-interval": "10s"}, want: "10s", isSet: true},
		{name: "reset gives the default again", key: "update-status-hook-interval",
			set: map[string]string{"update-status-hook-interval": "10s"}, reset: []string{"update-status-hook-interval"}, want: "5m"},
		{name: "what nobody knows is kept", key: "colour", set: map[string]string{"colour": "red"}, want: "red", isSet: true},
		{name: "resetting what isn't set is no error", key: "colour", reset: []string{"colour"}},
		{name: "an interval has a unit", set: map[string]string{"update-status-hook-interval": "10"},
			key: "update-status-hook-interval", want: "5m",
			fails: `update-status-hook-interval: "10" is not a duration like 5m`},
		{name: "an interval is not negative", set: map[string]string{"update-status-hook-interval": "-1s"},
			key: "update-status-hook-interval", want: "5m",
			fails: `update-status-hook-interval: "-1s" is not a duration like 5m`},
		{name: "retrying is a yes or a no", set: map[string]string{"automatically-retry-hooks": "perhaps"},
			key: "automatically-retry-hooks", want: "true",
			fails: `automatically-retry-hooks: "perhaps" is not true or false`},
		{name: "one bad value refuses all", set: map[string]string{"automatically-retry-hooks": "perhaps", "colour": "red"},
			key: "colour", fails: `automatically-retry-hooks: "perhaps" is not true or false`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			err := w.SetModelConfig(w.ctx, tt.set, nil)
			if err == nil {
				err = w.SetModelConfig(w.ctx, nil, tt.reset)
			}
			if tt.fails != "" {
				w.fails(err, tt.fails)
				if !errors.Is(err, errors.NotValid) {
					t.Error("error is not NotValid")
				}
			} else {
				w.ok(err)
			}
			all, set, err := w.ModelConfig(w.ctx)
			w.ok(err)
			if all[tt.key] != tt.want || set[tt.key] != tt.isSet {
				t.Errorf("%s is %q, set %v; want %q, %v", tt.key, all[tt.key], set[tt.key], tt.want, tt.isSet)
			}
		})
	}
}

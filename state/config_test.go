package state_test

import (
	"maps"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func TestSetConfig(t *testing.T) {
	t.Parallel()
	options := map[string]model.ConfigOption{
		"title": {Type: "string", Default: "Shop"},
		"size":  {Type: "int"},
		"debug": {Type: "boolean", Default: false},
		"ratio": {Type: "float", Default: 1.5},
	}
	for _, tt := range []struct {
		name  string
		set   map[string]string
		reset []string
		fails string
		want  map[string]any // of Set
		value any            // of title
	}{
		{name: "an option that isn't set has its default", value: "Shop"},
		{name: "text becomes a value of the option's type",
			set:  map[string]string{"title": "7", "size": "7", "debug": "true", "ratio": "7"},
			want: map[string]any{"title": "7", "size": int64(7), "debug": true, "ratio": 7.0}, value: "7"},
		{name: "a large number keeps every digit", set: map[string]string{"size": "9007199254740993"},
			want: map[string]any{"size": int64(9007199254740993)}, value: "Shop"},
		{name: "what isn't a number is refused", set: map[string]string{"ratio": "NaN"},
			fails: `parsing settings for application: option "ratio" expected float, got "NaN"`, value: "Shop"},
		{name: "an empty string is a value", set: map[string]string{"title": ""}, want: map[string]any{"title": ""}, value: ""},
		{name: "reset gives the default again", set: map[string]string{"title": "x"}, reset: []string{"title"}, value: "Shop"},
		{name: "an unknown option is refused with all others", set: map[string]string{"title": "x", "k": "v"},
			fails: `parsing settings for application: unknown option "k"`, value: "Shop"},
		{name: "a value of another type is refused", set: map[string]string{"size": "abc"},
			fails: `parsing settings for application: option "size" expected int, got "abc"`, value: "Shop"},
		{name: "resetting an unknown option is refused", reset: []string{"k"},
			fails: `updating application charm settings: unknown option "k"`, value: "Shop"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := charm(mysql)
			c.Options = options
			w.ok(w.Deploy(w.ctx, state.DeployArgs{Application: "mysql", Charm: w.addCharm(c)}))
			err := w.SetConfig(w.ctx, "mysql", tt.set, nil)
			if err == nil {
				err = w.SetConfig(w.ctx, "mysql", nil, tt.reset)
			}
			if tt.fails != "" {
				w.fails(err, tt.fails)
			} else {
				w.ok(err)
			}
			conf, err := w.Config(w.ctx, "mysql")
			w.ok(err)
			if !maps.Equal(conf.Set, tt.want) {
				t.Errorf("set is %v, want %v", conf.Set, tt.want)
			}
			if size, ok := tt.want["size"]; ok && conf.Values["size"] != size {
				t.Errorf("size is %v, want %v", conf.Values["size"], size)
			}
			if conf.Values["title"] != tt.value || len(conf.Values) != len(options) {
				t.Errorf("values are %v", conf.Values)
			}
		})
	}
}

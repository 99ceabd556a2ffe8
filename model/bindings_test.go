package model_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/unitd/unitd/model"
)

// Source: docs/spec/juju-clients.md §8.
func TestParseBindings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]model.Bindings{
		"":                       {},
		"inner":                  {"": "inner"},
		"db=inner web=outer":     {"db": "inner", "web": "outer"},
		" alpha  db=inner ":      {"": "alpha", "db": "inner"},
		"db=inner outer web=a-1": {"": "outer", "db": "inner", "web": "a-1"},
	} {
		if got, err := model.ParseBindings(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"=inner":    `found "=" without endpoint name. A space without "=" is the default`,
		"db=a=b":    `found multiple "=" in binding. Each is for one endpoint`,
		"db=":       `"" is no name of a space`,
		"In_ner":    `"In_ner" is no name of a space`,
		"a b":       `there is more than one default space`,
		"db=a db=b": `endpoint "db" is bound twice`,
	} {
		_, err := model.ParseBindings(text)
		if want = "--bind must be in the form '[<default-space>] [<endpoint-name>=<space> ...]'; " + want; err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// Each row binds anew what the rows before it have bound.
func TestBindingsFollowEachOther(t *testing.T) {
	t.Parallel()
	b := model.Bindings(nil)
	ends := []string{"db", "juju-info", "web"}
	for _, row := range []struct{ bind, want, log string }{
		{"db=inner", "=alpha db=inner juju-info=alpha web=alpha",
			`moving endpoint "db" from space "alpha" to "inner"; no change to endpoints in space "alpha": juju-info, web`},
		{"outer", "=outer db=inner juju-info=outer web=outer", // those of the former default go with it
			`moving endpoint "juju-info" from space "alpha" to "outer"; moving endpoint "web" from space "alpha" to "outer"; no change to endpoints in space "inner": db`},
		{"inner", "=inner db=inner juju-info=inner web=inner",
			`moving endpoint "juju-info" from space "outer" to "inner"; moving endpoint "web" from space "outer" to "inner"; no change to endpoints in space "inner": db`},
		{"alpha web=inner", "=alpha db=alpha juju-info=alpha web=inner", // db has become one of the default's
			`moving endpoint "db" from space "inner" to "alpha"; moving endpoint "juju-info" from space "inner" to "alpha"; no change to endpoints in space "inner": web`},
	} {
		others, err := model.ParseBindings(row.bind)
		if err != nil {
			t.Fatal(err)
		}
		next, err := b.With(others, ends)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range append([]string{""}, ends...) {
			got = append(got, e+"="+next.All(ends)[e])
		}
		if strings.Join(got, " ") != row.want {
			t.Errorf("%s: got %v, want %s", row.bind, got, row.want)
		}
		if log := strings.Join(next.Log(b, ends, ends), "; "); log != row.log {
			t.Errorf("%s: the log is %s\nwant %s", row.bind, log, row.log)
		}
		b = next
	}
	if _, err := b.With(model.Bindings{"nope": "alpha"}, ends); err == nil || err.Error() != `endpoint "nope" not found` {
		t.Errorf("got %v", err)
	}
	want := `adding endpoint "new" to default space "alpha"; no change to endpoints in space "inner": web`
	if log := strings.Join(b.Log(b, []string{"web"}, []string{"new", "web"}), "; "); log != want {
		t.Errorf("got %s, want %s", log, want)
	}
}

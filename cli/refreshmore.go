package cli

import (
	"github.com/spf13/pflag"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// refreshMore are the flags of refresh that are about the application rather than its
// charm. Source: docs/spec/juju-clients.md §10.1.
type refreshMore struct {
	storage []string
	bind    string
	trust   trustFlag
}

// trustFlag is --trust, which is neither true nor false until it is given.
type trustFlag struct{ given, trust bool }

func (t *trustFlag) declare(fs *pflag.FlagSet) {
	fs.BoolFunc("trust", "whether the application may ask for the cloud's credentials; a container charm: has the Kubernetes API", func(text string) error {
		t.given = true
		switch text {
		case "true", "1", "t", "True", "TRUE":
			t.trust = true
		case "false", "0", "f", "False", "FALSE":
			t.trust = false
		default:
			return Usagef("it is true or false")
		}
		return nil
	})
}

func (f *refreshMore) declare(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.storage, "storage", nil, "name=directive, for storage of units that come, or that only the new charm has")
	fs.StringVar(&f.bind, "bind", "", "\"[SPACE] [ENDPOINT=SPACE …]\": recorded; there is one network")
	f.trust.declare(fs)
}

// asked is what the flags say, in the model's terms.
func (f refreshMore) asked() (map[string]model.StorageDirective, model.Bindings, error) {
	others, err := model.ParseBindings(f.bind)
	if err != nil {
		return nil, nil, Usagef("%v", err)
	}
	directives, err := storageArgs(f.storage)
	return directives, others, err
}

// checkMore says what can't be of what is asked for beside a new charm, before that is
// stored.
func (a charmVerbs) checkMore(m *state.Model, name string, charm model.Charm, f refreshMore) error {
	directives, others, err := f.asked()
	if err != nil {
		return err
	}
	return m.CheckRefresh(a.Context(), name, charm, directives, others)
}

// carryOutRefresh gives an application a charm, with what the flags say beside it.
func (a charmVerbs) carryOutRefresh(m *state.Model, name string, f refreshFlags, r state.Refresh) error {
	directives, others, err := f.more.asked()
	if err != nil {
		return err
	}
	r.Force, r.Storage, r.Bindings = f.units(), directives, others
	if r.Base, err = f.onto.parse(func(string, ...any) {}); err != nil {
		return err
	}
	if f.more.trust.given {
		r.Trust = &f.more.trust.trust
	}
	return m.Refresh(a.Context(), name, r)
}

// afterRefresh says what has become of bindings, where that is news.
func (a charmVerbs) afterRefresh(m *state.Model, name string, was state.ApplicationDoc, old, charm model.Charm, f refreshMore) error {
	_, others, err := f.asked()
	if err != nil || len(others) == 0 {
		return err
	}
	app, err := m.Application(a.Context(), name)
	if err != nil {
		return err
	}
	for _, line := range app.Bindings.Log(was.Bindings, old.Bindable(), charm.Bindable()) {
		a.Note("%s", line)
	}
	a.recordsBindings(others)
	return nil
}

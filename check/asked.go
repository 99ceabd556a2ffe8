package check

import (
	"context"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/recording"
)

// askRounds bounds how often a hook is given what it has asked for, and may ask for more then.
const askRounds = 4

// learnAsked adds the keys that hooks ask for by name. Those in shell do; Ops reads whole databags,
// and it would only take time to find that out.
func (p *player) learnAsked(ctx context.Context, w *World, i int) error {
	e := &w.Endpoints[i]
	if sourced(e.Keys) || !p.subject.asks {
		return nil
	}
	var asked []Key
	for range askRounds {
		if err := ctx.Err(); err != nil {
			return errors.Trace(err)
		}
		one := *e
		one.Keys = asked
		ok, err := p.good(w.deploy(1), w.whole(one))
		if err != nil {
			return err
		}
		runs, err := p.runs()
		if err != nil {
			return err
		}
		before := slices.Clone(asked)
		for _, k := range keysAsked(runs, *e, w.Application()) {
			asked = inBoth(asked, k)
		}
		if !ok || slices.EqualFunc(asked, before, func(a, b Key) bool { return a.Name == b.Name && a.Where == b.Where }) {
			break
		}
	}
	e.Keys = firstOf(asked, e.Keys)
	return nil
}

// keysAsked are the keys that hooks of an application have asked the other side of an endpoint for.
func keysAsked(runs []history.Entry, e Endpoint, application string) (keys []Key) {
	for _, run := range runs {
		for _, call := range run.Calls {
			if call.Tool != "relation-get" {
				continue
			}
			t := parsed(recording.Call{Args: append([]string{call.Tool}, call.Args...)}, "r", "relation", "format", "o", "output")
			_, ofApp := t.flags["app"]
			switch {
			case !about(t, run.Name, e.Name) || len(t.args) == 0:
				continue
			case len(t.args) > 1 && strings.HasPrefix(t.args[1]+"/", application+"/"):
				continue // its own
			case !keyName.MatchString(t.args[0]) || ownKey(t.args[0]):
				continue // all of them, or one that the model has
			}
			k := Key{Name: t.args[0], Kind: guess(t.args[0]), Where: UnitBag, From: Asked}
			if ofApp {
				k.Where = AppBag
			}
			keys = inBoth(keys, k)
		}
	}
	return keys
}

// inBoth adds a key, or has the one of that name that is there published in the other databag as
// well.
func inBoth(keys []Key, k Key) []Key {
	for i := range keys {
		if keys[i].Name == k.Name {
			if keys[i].Where != k.Where {
				keys[i].Where = Both
			}
			return keys
		}
	}
	return append(keys, k)
}

// about says whether a call of relation-get in a hook is about a relation of an endpoint.
func about(t toolCall, hook, endpoint string) bool {
	for _, name := range []string{"r", "relation"} {
		if m := relationID.FindStringSubmatch(t.flags[name]); m != nil {
			return m[1] == endpoint
		}
	}
	return strings.HasPrefix(hook, endpoint+"-relation-")
}

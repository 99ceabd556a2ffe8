package check

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/model"
)

// learn makes the world of the player's charm: what it can be told by stubs, and which actions
// succeed. The error is *failed where a unit can't even be deployed alone.
func (p *player) learn(ctx context.Context) (World, error) {
	w := World{Subject: p.subject, Endpoints: p.subject.endpoints()}
	for name, e := range w.Charm.Endpoints {
		if model.Reserved(e.Interface) && e.Role == model.Requirer && e.Scope == model.Global {
			w.Odd = append(w.Odd, "relations of "+name+": no stub can provide the interface "+e.Interface)
		}
	}
	slices.Sort(w.Odd)
	if err := p.play(w.deploy(1), nil); err != nil {
		return w, err
	}
	for i := range w.Endpoints {
		if err := p.learnPartner(ctx, &w, i); err != nil {
			return w, err
		}
		if err := p.learnAsked(ctx, &w, i); err != nil {
			return w, err
		}
		if err := p.learnKeys(ctx, &w, i); err != nil {
			return w, err
		}
	}
	if err := p.learnTogether(&w); err != nil {
		return w, err
	}
	if err := p.learnTrusted(ctx, &w); err != nil {
		return w, err
	}
	if err := p.learnActions(ctx, &w); err != nil {
		return w, err
	}
	err := p.learnFormer(&w)
	return w, err
}

// ofALife says whether what is tried for a promise depends on which hooks a life brings.
func ofALife(promise string) bool {
	return slices.Contains([]string{Killed, InterruptedInstall, Frugal}, promise)
}

// learnTrusted finds the options of type secret that the charm takes with the secrets that there are
// in worlds.
func (p *player) learnTrusted(ctx context.Context, w *World) error {
	for _, name := range w.secretOptions() {
		if err := ctx.Err(); err != nil {
			return errors.Trace(err)
		}
		ok, err := p.good(append(w.deploy(1), w.trusted()...), w.setSecret(name))
		if err != nil {
			return err
		}
		if ok {
			w.Trusted = append(w.Trusted, name)
		}
	}
	return nil
}

// learnFormer leaves out a former version of the git history that doesn't do all that is done before
// an upgrade: it may have had bugs, or fewer endpoints, and that is nothing to be found.
func (p *player) learnFormer(w *World) error {
	if w.Commit == "" {
		return nil
	}
	if w.otherStorage() {
		w.Odd = append(w.Odd, "upgrades from commit "+w.Commit+": that version has other storage, which container units can't get by an upgrade, so the charm is upgraded to itself")
		w.withoutFormer()
		return nil
	}
	for _, life := range w.livesToUpgrade() {
		ok, err := p.good(w.formerDeploy(), life)
		if err != nil {
			return err
		}
		if !ok {
			w.Odd = append(w.Odd, "upgrades from commit "+w.Commit+": that version doesn't live as this one does, so the charm is upgraded to itself")
			w.withoutFormer()
			return nil
		}
	}
	return nil
}

// otherStorage says whether container units can't be upgraded from the former version, as it has other
// storage. Source: docs/spec/containers.md §7.1.
func (w World) otherStorage() bool {
	same := func(a, b model.StorageSpec) bool {
		a.Description, b.Description = "", ""
		return reflect.DeepEqual(a, b)
	}
	return w.pods() && !maps.EqualFunc(w.Was.Storage, w.Charm.Storage, same)
}

// good is play, which says whether it went well; the error is another one.
func (p *player) good(setUp, steps []string) (bool, error) {
	err := p.play(setUp, steps)
	if err != nil && !errors.As(err, new(*failed)) {
		return false, err
	}
	return err == nil, nil
}

// learnTime bounds how long it is tried what a stub can publish.
const learnTime = time.Minute

// learnKeys finds out what a stub can publish that the charm can use.
func (p *player) learnKeys(ctx context.Context, w *World, i int) error {
	e := &w.Endpoints[i]
	setUp := w.deploy(1)
	late := time.Now().Add(learnTime)
	try := func(keys []Key) (bool, error) {
		if err := ctx.Err(); err != nil {
			return false, errors.Trace(err)
		}
		one := *e
		one.Keys = keys
		return p.good(setUp, w.whole(one))
	}
	ok, err := try(e.Keys)
	if err != nil {
		return err
	}
	if other := requoted(e.Keys); !ok && other != nil {
		if ok, err = try(other); err != nil {
			return err
		}
		if ok {
			e.Keys = other
		}
	}
	if !ok {
		related := append(slices.Clone(w.relate(*e)), "settle")
		if err := p.play(setUp, related); err != nil {
			var f *failed
			switch {
			case !errors.As(err, &f):
				return err
			case !p.subject.hasImage():
				return p.subject.lacking(f)
			}
			return nil // it is a finding, for the probes
		}
		inTime := func(keys []Key) (bool, error) {
			if time.Now().After(late) {
				return false, nil // those that are known by now are enough
			}
			return try(keys)
		}
		told := sourced(e.Keys)
		if e.Keys, err = usable(nil, e.Keys, inTime); err == nil && len(e.Keys) == 0 && told {
			e.Keys, err = usable(nil, p.subject.guesses(), inTime)
		}
		if err != nil {
			return err
		}
		if _, err := try(e.Keys); err != nil {
			return err
		}
	}
	asked, err := p.askedSecrets(*e)
	if err != nil || len(asked) == 0 {
		return err
	}
	keys := slices.Clone(e.Keys)
	for j := range keys {
		if asked[keys[j].Name] {
			keys[j].Kind, keys[j].Value = Secret, ""
		}
	}
	if ok, err = try(keys); ok {
		e.Keys = keys
	}
	return err
}

// learnTogether finds the keys that the charm takes for secrets only once it has other relations too.
func (p *player) learnTogether(w *World) error {
	if len(w.Endpoints) < 2 {
		return nil
	}
	if _, err := p.good(w.full(), nil); err != nil {
		return err
	}
	asked := make([]map[string]bool, len(w.Endpoints))
	for i, e := range w.Endpoints {
		var err error
		if asked[i], err = p.askedSecrets(e); err != nil {
			return err
		}
	}
	for i := range w.Endpoints {
		e := &w.Endpoints[i]
		keys, more := slices.Clone(e.Keys), false
		for j, k := range keys {
			if asked[i][k.Name] && k.Kind != Secret {
				keys[j].Kind, keys[j].Value, more = Secret, "", true
			}
		}
		if !more {
			continue
		}
		former := e.Keys
		e.Keys = keys
		if ok, err := p.good(w.full(), nil); err != nil {
			return err
		} else if !ok {
			e.Keys = former
		}
	}
	return nil
}

// usable are keys of those to be added with which all goes well beside those that are known to,
// each with a value of the first kind that does.
func usable(known, add []Key, try func([]Key) (bool, error)) ([]Key, error) {
	if len(add) == 0 {
		return known, nil
	}
	ok, err := try(append(slices.Clone(known), add...))
	switch {
	case err != nil:
		return known, err
	case ok:
		return append(known, add...), nil
	case len(add) > 1:
		half := len(add) / 2
		if known, err = usable(known, add[:half], try); err != nil {
			return known, err
		}
		return usable(known, add[half:], try)
	}
	for _, k := range add[0].otherForms() {
		if ok, err := try(append(slices.Clone(known), k)); err != nil || ok {
			return append(known, k), err
		}
	}
	return known, nil
}

// askedSecrets are the keys whose values the charm took for the URIs of secrets.
func (p *player) askedSecrets(e Endpoint) (map[string]bool, error) {
	runs, err := p.runs()
	if err != nil {
		return nil, err
	}
	asked := map[string]bool{}
	for _, run := range runs {
		for _, call := range run.Calls {
			if call.Tool != "secret-get" && call.Tool != "secret-info-get" {
				continue
			}
			for _, k := range e.Keys {
				for _, value := range []string{e.value(k, 0), e.value(k, -1)} {
					if len(value) > 6 && slices.ContainsFunc(call.Args, func(a string) bool { return strings.HasSuffix(a, value) }) {
						asked[k.Name] = true
					}
				}
			}
		}
	}
	return asked, nil
}

// learnLife lives a whole life step by step, and notes which hooks each step brings. After a step that fails, it goes back
// to where the life was before. known: it has come to the end before over, which is asked at each step, says that
// there is no sense in it.
func (p *player) learnLife(w *World, over func() bool) (known bool, err error) {
	before, here := 0, false
	for _, step := range w.life() {
		if over() {
			return false, nil
		}
		if !here {
			ok, err := p.good(slices.Concat(w.Life...), nil)
			if err != nil {
				return false, err
			}
			if !ok {
				w.Odd = append(w.Odd, "the life of a unit: it doesn't go the same way twice, and what comes later in it isn't tried")
				return true, nil
			}
			runs, err := p.runs()
			if err != nil {
				return false, err
			}
			before = len(runs)
		}
		err := p.lines(step, 0)
		if here = err == nil; !here {
			if errors.As(err, new(*failed)) {
				continue // what comes of it is for the probes
			}
			return false, err
		}
		runs, err := p.runs()
		if err != nil {
			return false, err
		}
		for _, run := range runs[min(before, len(runs)):] {
			w.note(len(w.Life), run)
		}
		before = len(runs)
		if w.Life = append(w.Life, step); w.pods() { // whose containers are started anew after it, which brings hooks
			if err := p.keep(strings.Join(slices.Concat(w.Life...), "\n")); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// manyOfOne bounds the calls of one tool in one hook that are told apart.
const manyOfOne = 10

// note notes a hook, unless the same has called the same tools.
func (w *World) note(step int, run history.Entry) {
	seen, called := Seen{Step: step, Hook: run.Name}, map[string]int{}
	for _, call := range run.Calls {
		called[call.Tool]++
		switch n := called[call.Tool]; {
		case n == 1:
			seen.Tools = append(seen.Tools, call.Tool)
		case n <= manyOfOne:
			seen.Tools = append(seen.Tools, fmt.Sprintf("%d %s", n, call.Tool))
		}
	}
	if run.Hook.IsTask() {
		return
	}
	same := func(s Seen) bool { return s.Hook == seen.Hook && slices.Equal(s.Tools, seen.Tools) }
	if !slices.ContainsFunc(w.Hooks, same) {
		w.Hooks = append(w.Hooks, seen)
	}
}

// life is a whole life of one unit, in steps that each end settled.
func (w World) life() [][]string {
	steps := [][]string{w.deploy(1)}
	if acts := w.acts(w.Unit()); len(acts) > 0 {
		steps = append(steps, acts)
	}
	for _, name := range w.Trusted {
		steps = append(steps, w.setSecret(name))
	}
	for _, e := range w.Endpoints {
		steps = append(steps, append(slices.Clone(w.secretsOf(e)), append(w.relate(e), "settle")...))
		if lines := e.publish(e.Keys, 0); len(lines) > 0 {
			steps = append(steps, append(lines, "settle"))
		}
	}
	for _, c := range w.changes() {
		steps = append(steps, c.set, c.reset)
	}
	for _, s := range w.optional() {
		steps = append(steps, []string{"add-storage " + w.Unit() + " " + s, "settle"})
	}
	if w.peers() {
		steps = append(steps, []string{w.addUnit(), "settle"}, []string{w.removeUnit(1), "settle"})
	}
	steps = append(steps, []string{"advance 6m", "settle"}, w.refresh())
	for i, s := range w.optional() {
		steps = append(steps, []string{"detach-storage " + w.storageID(s, i), "settle"})
	}
	for _, e := range slices.Backward(w.Endpoints) {
		steps = append(steps, []string{w.unrelate(e), "settle"})
	}
	return steps
}

func (w World) unrelate(e Endpoint) string {
	return fmt.Sprintf("remove-relation %s:%s %s", w.Application(), e.Name, e.Stub())
}

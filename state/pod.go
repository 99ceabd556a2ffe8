package state

import (
	"context"
	"fmt"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// The containers of a unit, the charm's and those of its workloads, are a pod:
// another charm, another image, and other resources reach a unit by another pod,
// one unit of the application after the other. Source: docs/spec/containers.md §7.1,
// K-110.

// Pod is what a set of containers of a unit is made of. It doesn't change any more
// once it is being made: so a container that is started again is what it was.
type Pod struct {
	// Number counts the unit's pods, from 0.
	Number int `json:"number"`
	// Charm is the URL of its charm, and Given what ApplicationDoc.Given was when the
	// unit was told to have it.
	Charm string `json:"charm"`
	Given int    `json:"given,omitempty"`
	// Template is what ApplicationDoc.PodTemplate was then.
	Template string `json:"template,omitempty"`
	// Images are those of the application's resources, by name, without their
	// passwords.
	Images map[string]model.Image `json:"images,omitempty"`
}

// PodDoc says which pod a container unit is to have, and what its agent tells of it.
type PodDoc struct {
	Wanted Pod `json:"wanted"`
	// Former is the pod that the unit has had before; nil: it has had none, or it is
	// of no use any more.
	Former *Pod `json:"former,omitempty"`
	// Has is the number of the pod that the unit has, or that its agent has begun to
	// make, and Ready says that this one takes part in what the application does.
	Has   int  `json:"has,omitempty"`
	Ready bool `json:"ready,omitempty"`
}

// Had is the pod that the unit has, as far as it is known.
func (p PodDoc) Had() (Pod, bool) {
	switch {
	case p.Has == p.Wanted.Number:
		return p.Wanted, true
	case p.Former != nil && p.Has == p.Former.Number:
		return *p.Former, true
	}
	return Pod{}, false
}

// pod is the pod with that number of units of the application, as it is now.
func (a ApplicationDoc) pod(number int) Pod {
	p := Pod{Number: number, Charm: a.Charm, Given: a.Given, Template: a.PodTemplate}
	for name, r := range a.Resources {
		if r.Image != nil {
			if p.Images == nil {
				p.Images = map[string]model.Image{}
			}
			p.Images[name] = *r.Image
		}
	}
	return p
}

// asks says whether the application wants its units to have other pods than that.
func (a ApplicationDoc) asks(p Pod) bool {
	return p.Charm != a.Charm || p.Given != a.Given || p.Template != a.PodTemplate
}

// then is what the unit is to have next. A pod that its agent hasn't begun to make
// becomes that one: whoever makes it reads what it is once they have said so.
func (p PodDoc) then(app ApplicationDoc) PodDoc {
	if p.Has != p.Wanted.Number {
		p.Wanted = app.pod(p.Wanted.Number)
		return p
	}
	former := p.Wanted
	p.Former, p.Wanted = &former, app.pod(p.Wanted.Number+1)
	return p
}

// unitPod is a unit with its pod.
type unitPod struct {
	unit UnitDoc
	pod  PodDoc
}

// nextPod says whose turn it is to have another pod, of all units of the
// application: that of the highest number first, and the next one only when those
// before it have theirs and are ready. One that isn't ready has its turn all the
// same, as what is wrong with it may be what the other pod mends. Units on their way
// out keep what they have, and hold nobody up. waits says that others are to have
// their turn later.
func nextPod(app ApplicationDoc, units []unitPod) (next int, found, waits bool) {
	order := podOrder(units)
	for _, i := range order {
		waits = waits || app.asks(units[i].pod.Wanted)
	}
	if !waits || app.Life != model.Alive {
		return 0, false, false
	}
	for _, i := range order {
		switch p := units[i].pod; {
		case app.asks(p.Wanted):
			return i, true, true
		case p.Has != p.Wanted.Number || !p.Ready:
			return 0, false, true
		}
	}
	return 0, false, false
}

// podOrder is the order in which living units have their turns, by their places.
func podOrder(units []unitPod) []int {
	var order []int
	for i, u := range units {
		if u.unit.Life == model.Alive {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int { return units[j].unit.Name.Number() - units[i].unit.Name.Number() })
	return order
}

// heldUp is the unit that has to be ready before the others, held, have their
// turns; empty: nobody waits, or it is a unit's turn.
func heldUp(app ApplicationDoc, units []unitPod) (by model.UnitName, held map[model.UnitName]bool) {
	if _, turn, waits := nextPod(app, units); turn || !waits {
		return "", nil
	}
	held = map[model.UnitName]bool{}
	for _, i := range podOrder(units) {
		u := units[i]
		switch {
		case app.asks(u.pod.Wanted):
			held[u.unit.Name] = true
		case by == "" && (u.pod.Has != u.pod.Wanted.Number || !u.pod.Ready):
			by = u.unit.Name
		}
	}
	return by, held
}

// pods are an application's units with their pods.
func (d docs) pods(app ApplicationDoc) ([]unitPod, error) {
	units, err := d.unitsOf(app.Name)
	if err != nil {
		return nil, errors.Trace(err)
	}
	return d.withPods(app, units)
}

// withPods are units of the application with their pods.
func (d docs) withPods(app ApplicationDoc, units []UnitDoc) ([]unitPod, error) {
	pods, err := d.podsBelow(app.Name + "/")
	if err != nil {
		return nil, errors.Trace(err)
	}
	all := make([]unitPod, len(units))
	for i, u := range units {
		pod, ok := pods[u.Name]
		if !ok {
			pod.Wanted = app.pod(0)
		}
		all[i] = unitPod{u, pod}
	}
	return all, nil
}

// podOf is the pod of a unit of the application.
func (d docs) podOf(app ApplicationDoc, unit model.UnitName) (PodDoc, error) {
	var doc PodDoc
	found, err := d.find(podKey(unit), &doc)
	if err == nil && !found {
		doc.Wanted = app.pod(0)
	}
	return doc, errors.Trace(err)
}

// RollOut has the next unit of a container application have the pod that the
// application asks for, if it is a unit's turn: see nextPod. waits says that it has
// to be called again when pods have changed. There is nothing to do for an
// application that is gone, or of machines.
func (m *Model) RollOut(ctx context.Context, application string) (waits bool, err error) {
	turn := func(d docs) (app ApplicationDoc, next unitPod, found bool, err error) {
		app, err = d.application(application)
		if errors.Is(err, errors.NotFound) || err == nil && !app.Sidecar {
			return app, next, false, nil
		}
		var units []unitPod
		if err == nil {
			units, err = d.pods(app)
		}
		if err != nil {
			return app, next, false, errors.Trace(err)
		}
		i, found, unfinished := nextPod(app, units)
		if waits = unfinished; found {
			next = units[i]
		}
		return app, next, found, nil
	}
	due := false
	_, err = m.view(ctx, func(r docs) (err error) {
		_, _, due, err = turn(r)
		return err
	})
	if err != nil || !due {
		return waits, errors.Trace(err)
	}
	_, err = m.update(ctx, func(tx *txn) error {
		app, next, found, err := turn(tx.docs)
		if err != nil || !found {
			return errors.Trace(err)
		}
		return tx.put(podKey(next.unit.Name), next.pod.then(app))
	})
	return waits, errors.Trace(err)
}

// TellPod notes which pod a container unit has, or that its agent begins to make
// it, and whether it is ready. The error is NotFound where there is no such unit.
func (m *Model) TellPod(ctx context.Context, unit model.UnitName, has int, ready bool) error {
	_, err := m.update(ctx, func(tx *txn) error {
		if _, err := tx.unit(unit); err != nil {
			return errors.Trace(err)
		}
		app, err := tx.application(unit.Application())
		if err != nil {
			return errors.Trace(err)
		}
		doc, err := tx.podOf(app, unit)
		if err != nil || doc.Has == has && doc.Ready == ready {
			return errors.Trace(err)
		}
		doc.Has, doc.Ready = has, ready
		if has == doc.Wanted.Number {
			doc.Former = nil
		}
		return tx.put(podKey(unit), doc)
	})
	return errors.Trace(err)
}

// podsBelow are the pods of units whose names begin so.
func (d docs) podsBelow(prefix string) (map[model.UnitName]PodDoc, error) {
	kvs, err := d.List(d.m.prefix() + podPrefix + prefix)
	if err != nil {
		return nil, errors.Trace(err)
	}
	all, err := decode[PodDoc](kvs)
	if err != nil {
		return nil, errors.Trace(err)
	}
	pods := map[model.UnitName]PodDoc{}
	for i, kv := range kvs {
		pods[model.UnitName(kv.Key[len(d.m.prefix()+podPrefix):])] = all[i]
	}
	return pods, nil
}

// Pod is that of a unit of a container application. The error is NotFound where
// there is no such unit.
func (m *Model) Pod(ctx context.Context, unit model.UnitName) (doc PodDoc, err error) {
	_, err = m.view(ctx, func(r docs) error {
		if _, err := r.unit(unit); err != nil {
			return errors.Trace(err)
		}
		app, err := r.application(unit.Application())
		if err != nil {
			return errors.Trace(err)
		}
		doc, err = r.podOf(app, unit)
		return errors.Trace(err)
	})
	return doc, errors.Trace(err)
}

// PodImage is the image of a resource as a pod has it. Its password is that which
// the application has for the same reference now, if it has one. Errors are those of
// Image.
func (m *Model) PodImage(ctx context.Context, application string, p Pod, resource string) (model.Image, error) {
	image, ok := p.Images[resource]
	if !ok {
		return image, errors.NewNotFound(nil, fmt.Sprintf("application %q has no image for resource %q", application, resource))
	}
	now, err := m.Image(ctx, application, resource)
	if errors.Is(err, errors.NotFound) {
		return image, nil // the application has it no more
	}
	if err == nil && now.Reference == image.Reference {
		image.Username, image.Password = now.Username, now.Password
	}
	return image, errors.Trace(err)
}

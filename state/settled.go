package state

import (
	"context"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// settledDoc says up to which revision an agent has done all there was.
type settledDoc struct {
	Rev int64 `json:"rev"`
}

// settledOf is the settledDoc of the agent of a machine of ManualProvider;
// settledKey is that of the agent that has the models.
func settledOf(machine string) string { return settledKey + "/" + machine }

// SetSettled says that all that the model asked the agent for up to a revision
// is done, or waits for a person. machine is that of an agent that has joined,
// else empty.
func (m *Model) SetSettled(ctx context.Context, machine string, rev int64) error {
	key := settledKey
	if machine != "" {
		key = settledOf(machine)
	}
	_, err := m.update(ctx, func(tx *txn) error { return tx.put(key, settledDoc{rev}) }, store.Relaxed)
	return errors.Trace(err)
}

// Unsettled says whether something was written since the agent, named as for
// SetSettled, said that all was settled, because of which it may have had
// something to do, or was asked to say so anew.
func (m *Model) Unsettled(ctx context.Context, machine string) (bool, error) {
	key := settledKey
	if machine != "" {
		key = settledOf(machine)
	}
	unsettled := false
	_, err := m.view(ctx, func(r docs) error {
		var said settledDoc
		if _, err := r.find(key, &said); err != nil {
			return errors.Trace(err)
		}
		last, err := r.lastAsked(said.Rev)
		unsettled = last > said.Rev
		return errors.Trace(err)
	})
	return unsettled, errors.Trace(err)
}

// AskSettled asks the agents to say anew when all is settled. It returns the
// revision that Settled is to be asked about.
func (m *Model) AskSettled(ctx context.Context) (int64, error) {
	if asks, ok := m.asker(); ok {
		rev, err := asks.AskSettled(ctx, m.UUID())
		return rev, errors.Trace(err)
	}
	rev, err := m.update(ctx, func(tx *txn) error { return tx.put(askKey, tx.now()) }, store.Relaxed)
	return rev, errors.Trace(err)
}

// Settled says whether all up to rev, which AskSettled gave, is settled. Where
// there are several agents each must have done all up to the last that any of
// them has written, as that may concern any other. An agent whose machine has
// no units isn't asked.
//
// An agent that has joined is told of what concerns it alone. So of what was written
// since they were asked, and concerns none of those who have answered, they have to be
// asked anew: that is done here, once all of them have answered.
func (m *Model) Settled(ctx context.Context, rev int64) (bool, error) {
	var a answers
	_, err := m.view(ctx, func(r docs) (err error) {
		a, err = r.answers(rev)
		return errors.Trace(err)
	})
	if err == nil && a.again {
		_, err = m.AskSettled(ctx)
	}
	return a.done, errors.Trace(err)
}

// answers are what agents have said of a revision: all is done, or they have answered
// the last who asked, and something was written since.
type answers struct{ done, again bool }

func (d docs) answers(rev int64) (answers, error) {
	var own settledDoc
	if _, err := d.find(settledKey, &own); err != nil || own.Rev < rev {
		return answers{}, errors.Trace(err)
	}
	kvs, err := d.List(d.m.prefix() + settledKey + "/")
	if err != nil || len(kvs) == 0 {
		return answers{done: true}, errors.Trace(err)
	}
	last, err := d.lastAsked(rev)
	if err != nil {
		return answers{}, errors.Trace(err)
	}
	asked := rev
	ask, err := d.Get(d.m.prefix() + askKey)
	if err == nil {
		asked = max(asked, ask.Rev)
	} else if !errors.Is(err, errors.NotFound) {
		return answers{}, errors.Trace(err)
	}
	done, answered := own.Rev >= last, own.Rev >= asked
	for _, kv := range kvs {
		id := kv.Key[len(d.m.prefix()+settledKey+"/"):]
		theirs, err := d.settledOn(id, last)
		if err != nil {
			return answers{}, errors.Trace(err)
		}
		heard, err := d.settledOn(id, asked)
		if err != nil {
			return answers{}, errors.Trace(err)
		}
		done, answered = done && theirs, answered && heard
	}
	return answers{done: done, again: !done && answered && last > asked}, nil
}

// settledOn says whether the agent of a machine has done all up to rev.
func (d docs) settledOn(machine string, rev int64) (bool, error) {
	host, err := d.machine(machine)
	if errors.Is(err, errors.NotFound) || err == nil && (len(host.Units) == 0 || host.Life == model.Dead) {
		return true, nil
	}
	if err != nil {
		return false, errors.Trace(err)
	}
	var doc settledDoc
	_, err = d.find(settledOf(machine), &doc)
	return doc.Rev >= rev, errors.Trace(err)
}

// lastAsked is the revision of the newest document, rev at least, that somebody
// may have something to do because of.
func (d docs) lastAsked(rev int64) (int64, error) {
	kvs, err := d.Since(d.m.prefix(), rev)
	if err != nil {
		return 0, errors.Trace(err)
	}
	for _, kv := range kvs {
		if kind, _ := splitKey(kv.Key[len(d.m.prefix()):]); !tellsOnly(kind) {
			rev = max(rev, kv.Rev)
		}
	}
	return rev, nil
}

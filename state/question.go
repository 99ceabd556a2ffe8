package state

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// ManagingHost stands for the host of the agent that has the models, where else the id of a
// machine says whose agent is meant.
const ManagingHost = "-"

// Question is what somebody asks the agent of another host, which alone has it. Questions and
// answers go through the store, so that no host need be reached by another one; they vanish
// with a lease of who asks.
type Question struct {
	ID string `json:"id"`
	// Machine is that of the agent that is asked, or ManagingHost.
	Machine string          `json:"machine"`
	Body    json.RawMessage `json:"body"`
	Lease   store.LeaseID   `json:"lease"`
}

// questionTime is how long a question stands if who has asked it is gone.
const questionTime = time.Minute

func questionsOf(machine string) string { return questionKind + "/" + machine + "/" }
func answerKey(id string) string        { return answerKind + "/" + id }
func (q Question) key() string          { return questionsOf(q.Machine) + q.ID }

const (
	questionKind = "question"
	answerKind   = "answer"
)

// Ask asks the agent of a machine, or of ManagingHost, and waits for its answer until ctx is
// done. What it is asked, and what it answers, are JSON that the model doesn't look into.
func (m *Model) Ask(ctx context.Context, machine string, body any) (answer json.RawMessage, err error) {
	q := Question{ID: uuid.NewString(), Machine: machine}
	if q.Body, err = json.Marshal(body); err != nil {
		return nil, errors.Trace(err)
	}
	if asks, ok := m.asker(); ok {
		answer, err = asks.AskAgent(ctx, m.UUID(), machine, q.Body)
		return answer, errors.Trace(err)
	}
	if q.Lease, err = m.store.Grant(ctx, questionTime); err != nil {
		return nil, errors.Trace(err)
	}
	defer m.forget(ctx, q.Lease)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	rev, err := m.update(ctx, func(tx *txn) error { return tx.putLease(q.key(), q, q.Lease) }, store.Relaxed)
	if err != nil {
		return nil, errors.Trace(err)
	}
	news, err := m.store.Watch(ctx, []store.Keys{store.Only(m.prefix() + answerKey(q.ID))}, rev)
	if err != nil {
		return nil, errors.Trace(err)
	}
	for range news {
		there := false
		if _, err := m.view(ctx, func(r docs) (err error) {
			there, err = r.find(answerKey(q.ID), &answer)
			return errors.Trace(err)
		}); err != nil || there {
			return answer, errors.Trace(err)
		}
	}
	if err := context.Cause(ctx); err != nil {
		return nil, errors.Trace(err)
	}
	return nil, errors.New("the store doesn't tell of changes any more")
}

// forget ends the lease of a question. If that can't be done at once it ends by itself.
func (m *Model) forget(ctx context.Context, lease store.LeaseID) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer stop()
	_ = m.store.Revoke(ctx, lease)
}

// Questions are those that an agent is asked: that of a machine, or of ManagingHost.
func (m *Model) Questions(ctx context.Context, machine string) ([]Question, error) {
	var all []Question
	_, err := m.view(ctx, func(r docs) (err error) {
		all, err = list[Question](r, questionsOf(machine))
		return errors.Trace(err)
	})
	return all, errors.Trace(err)
}

// Answer answers a question; nobody may be there to hear it. The error is
// store.ErrTooLarge for an answer that is longer than a document can be.
func (m *Model) Answer(ctx context.Context, q Question, answer json.RawMessage) error {
	_, err := m.update(ctx, func(tx *txn) error {
		if err := tx.delete(q.key()); err != nil {
			return errors.Trace(err)
		}
		return tx.putLease(answerKey(q.ID), answer, q.Lease)
	}, store.Relaxed)
	if errors.Is(err, errors.NotFound) { // of an import, say
		_, err = m.update(ctx, func(tx *txn) error { return tx.delete(q.key()) }, store.Relaxed)
	}
	return errors.Trace(err)
}

// AgentOf is a machine whose agent isn't the one that has the models.
type AgentOf struct {
	MachineDoc
	// Present: the agent is there.
	Present bool
}

// Agents are those that have joined the model.
func (m *Model) Agents(ctx context.Context) ([]AgentOf, error) {
	var all []AgentOf
	_, err := m.view(ctx, func(r docs) error {
		all = nil
		hosts, err := r.joined()
		if err != nil {
			return errors.Trace(err)
		}
		for _, doc := range hosts {
			there, err := r.present(doc.ID)
			if err != nil {
				return errors.Trace(err)
			}
			all = append(all, AgentOf{doc, there})
		}
		return nil
	})
	return all, errors.Trace(err)
}

// joined are the machines whose hosts have agents of their own.
func (d docs) joined() ([]MachineDoc, error) {
	all, err := list[MachineDoc](d, "machine/")
	all = slices.DeleteFunc(all, func(doc MachineDoc) bool { return doc.Provider == LocalProvider || doc.Agent == "" })
	return all, errors.Trace(err)
}

package state_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// TestQuestionsGoToTheAgentOfAMachine: its watch tells of them, and nothing is left of them.
func TestQuestionsGoToTheAgentOfAMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.keys("m/" + w.UUID() + "/")
	ctx, stop := context.WithCancel(w.ctx)
	defer stop()
	concern, err := w.Concerning(ctx, "3")
	w.ok(err)
	changes, err := w.WatchOf(ctx, concern.Keys, concern.Rev)
	w.ok(err)
	answered := make(chan error, 1)
	go func() {
		for c := range changes {
			if !c.Status {
				t.Errorf("a question is something to do: %+v", c)
			}
			if !c.Asked["3"] {
				continue
			}
			questions, err := w.Questions(ctx, "3")
			for _, q := range questions {
				if string(q.Body) != `"how are you"` {
					t.Errorf("asked: %s", q.Body)
				}
				if err == nil {
					err = w.Answer(ctx, q, json.RawMessage(`"well"`))
				}
			}
			answered <- err
			return
		}
	}()
	answer, err := w.Ask(w.ctx, "3", "how are you")
	w.ok(err)
	w.ok(<-answered)
	if string(answer) != `"well"` {
		t.Errorf("the answer is %s", answer)
	}
	if after := w.keys("m/" + w.UUID() + "/"); len(after) != len(before) {
		t.Errorf("left: %v", after)
	}
}

// TestAQuestionThatNobodyAnswers ends with who has asked it, and an answer that comes too late
// is heard by nobody.
func TestAQuestionThatNobodyAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.keys("m/" + w.UUID() + "/")
	ctx, stop := context.WithCancel(w.ctx)
	asked := make(chan error, 1)
	go func() {
		_, err := w.Ask(ctx, state.ManagingHost, 1)
		asked <- err
	}()
	var late state.Question
	for late.ID == "" {
		questions, err := w.Questions(w.ctx, state.ManagingHost)
		w.ok(err)
		if len(questions) > 0 {
			late = questions[0]
		}
	}
	stop()
	if err := <-asked; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	w.ok(w.Answer(w.ctx, late, json.RawMessage(`1`)))
	if after := w.keys("m/" + w.UUID() + "/"); len(after) != len(before) {
		t.Errorf("left: %v", after)
	}
}

func TestAnAnswerThatIsTooLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, stop := context.WithTimeout(w.ctx, time.Minute)
	defer stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = w.Ask(ctx, "3", 1)
	}()
	var q state.Question
	for q.ID == "" {
		questions, err := w.Questions(w.ctx, "3")
		w.ok(err)
		if len(questions) > 0 {
			q = questions[0]
		}
	}
	long, err := json.Marshal(make([]byte, store.MaxValue))
	w.ok(err)
	if err := w.Answer(w.ctx, q, long); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("it was answered with %v", err)
	}
	stop()
	<-ended
}

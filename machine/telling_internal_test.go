package machine

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/juju/clock"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/memory"
)

// rung is a clock whose alarms go off when the test says so.
type rung struct {
	clock.Clock
	alarms []*alarm
}

type alarm struct {
	clock.Timer
	after   time.Duration
	ring    func()
	stopped bool
}

func (r *rung) AfterFunc(d time.Duration, f func()) clock.Timer {
	a := &alarm{after: d, ring: f}
	r.alarms = append(r.alarms, a)
	return a
}

func (a *alarm) Stop() bool {
	was := !a.stopped
	a.stopped = true
	return was
}

// tellingOf is what the agent of the one unit of a model tells.
type tellingOf struct {
	*testing.T
	*desire
	rung  *rung
	model *state.Model
	store store.Store
	idle  int
}

func newTellingOf(t *testing.T) *tellingOf {
	t.Helper()
	w := &tellingOf{T: t, rung: &rung{Clock: clock.WallClock}}
	w.store = memory.New(clock.WallClock)
	controller := state.NewController(w.store, clock.WallClock)
	var err error
	w.model, err = controller.AddModel(t.Context(), "test")
	w.must(err)
	url := addCharm(t, w.model, "name: app\nsummary: s\n")
	w.must(w.model.Deploy(t.Context(), state.DeployArgs{Application: "app", Charm: url, Units: 1}))
	doc, err := w.model.Unit(t.Context(), "app/0")
	w.must(err)
	config := Config{Controller: controller, Clock: w.rung, Log: slog.New(slog.DiscardHandler)}
	w.desire = newTelling(config, newHealth(config)).of(doc.Name, doc.ID, w.model, func() { w.idle++ }, func() {})
	return w
}

func (w *tellingOf) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// agentIs is a report of what the unit's agent is at.
func agentIs(status, message string) state.Report {
	return state.Report{Agent: &model.Status{Status: status, Message: message, Since: time.Now()}}
}

// want checks what the agent's status is in the store, and what it was.
func (w *tellingOf) want(now string, history ...string) {
	w.Helper()
	s, err := w.model.StatusOf(w.Context(), state.AgentStatus, "app/0")
	w.must(err)
	all, err := w.model.StatusHistory(w.Context(), state.AgentStatus, "app/0")
	w.must(err)
	var was []string
	for _, s := range all {
		was = append(was, s.Status)
	}
	if s.Status != now || !slices.Equal(was, history) {
		w.Errorf("it is %s, and was %v; want %s, and %v", s.Status, was, now, history)
	}
}

// TestTheStoreHasWhatAnAgentIsAtOnceThatHasLasted: who asks the agent has it at once,
// and the unit looks again once it was told, as it may have had nothing more to do
// meanwhile.
func TestTheStoreHasWhatAnAgentIsAtOnceThatHasLasted(t *testing.T) {
	t.Parallel()
	w := newTellingOf(t)
	w.sayIfLasts(t.Context(), agentIs(model.StatusExecuting, "running install hook"))
	w.want(model.StatusAllocating, model.StatusAllocating)
	if !w.telling.told("") || !w.telling.told(w.model.UUID()) {
		t.Error("something is owed that may pass")
	}
	word := w.telling.word()
	if said := word.Of(w.model)["app/0"].Agent; said == nil || said.Status != model.StatusExecuting {
		t.Errorf("the agent's word is %+v", said)
	}
	if len(w.rung.alarms) != 1 || w.rung.alarms[0].after != lasting {
		t.Fatalf("the alarms are %+v", w.rung.alarms)
	}
	w.rung.alarms[0].ring()
	w.want(model.StatusExecuting, model.StatusAllocating, model.StatusExecuting)
	if w.idle != 1 {
		t.Errorf("the unit looks %d times because of it", w.idle)
	}
	w.say(t.Context(), agentIs(model.StatusIdle, ""))
	w.want(model.StatusIdle, model.StatusAllocating, model.StatusExecuting, model.StatusIdle)
}

// TestWhatAnAgentWasAtBrieflyIsInTheHistory, in its order, once it is at something else;
// and its alarm has nothing to say any more.
func TestWhatAnAgentWasAtBrieflyIsInTheHistory(t *testing.T) {
	t.Parallel()
	w := newTellingOf(t)
	w.sayIfLasts(t.Context(), agentIs(model.StatusExecuting, "running install hook"))
	w.sayIfLasts(t.Context(), agentIs(model.StatusExecuting, "running start hook"))
	w.want(model.StatusAllocating, model.StatusAllocating)
	w.say(t.Context(), agentIs(model.StatusIdle, ""))
	w.want(model.StatusIdle, model.StatusAllocating, model.StatusExecuting, model.StatusExecuting, model.StatusIdle)
	for _, a := range w.rung.alarms {
		if !a.stopped {
			t.Error("an alarm goes on")
		}
		a.ring() // it had gone off in the same moment
	}
	w.want(model.StatusIdle, model.StatusAllocating, model.StatusExecuting, model.StatusExecuting, model.StatusIdle)
	if w.idle != 0 {
		t.Errorf("the unit looks %d times", w.idle)
	}
}

// slowly is a store whose next change waits for go.
type slowly struct {
	store.Store
	began, goOn chan struct{}
}

func (s slowly) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (int64, error) {
	close(s.began)
	<-s.goOn
	return s.Store.Update(ctx, fn, opts...)
}

// TestWhatIsToldIsNotOwedBecauseSomethingElseIsWantedMeanwhile: what an agent begins as something is
// told isn't told with it, and may pass; then nobody tells any more.
func TestWhatIsToldIsNotOwedBecauseSomethingElseIsWantedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newTellingOf(t)
	slow := slowly{w.store, make(chan struct{}), make(chan struct{})}
	w.desire.model = w.model.Through(slow)
	failed, containers := &state.FailureDoc{Run: 3}, &state.ContainersDoc{Pod: 1}
	workload := &model.Status{Status: model.StatusBlocked, Message: "no database", Since: time.Now()}
	var over sync.WaitGroup
	over.Go(func() { w.say(t.Context(), state.Report{Workload: workload, Failed: failed, Containers: containers}) })
	<-slow.began
	w.sayIfLasts(t.Context(), agentIs(model.StatusExecuting, "running install hook"))
	close(slow.goOn)
	over.Wait()
	if !w.telling.told("") {
		t.Errorf("as it may pass, what is owed is %+v", w.untold())
	}
	w.passed()
	if !w.telling.told("") {
		t.Errorf("once it has passed, what is owed is %+v", w.untold())
	}
}

// TestWhatIsWantedInPlaceOfWhatIsToldIsOwed: the newer of each.
func TestWhatIsWantedInPlaceOfWhatIsToldIsOwed(t *testing.T) {
	t.Parallel()
	w := newTellingOf(t)
	slow := slowly{w.store, make(chan struct{}), make(chan struct{})}
	w.desire.model = w.model.Through(slow)
	var over sync.WaitGroup
	over.Go(func() { w.say(t.Context(), agentIs(model.StatusError, "hook failed")) })
	<-slow.began
	w.desire.mu.Lock()
	w.desire.add(agentIs(model.StatusIdle, ""))
	w.desire.mu.Unlock()
	close(slow.goOn)
	over.Wait()
	if owed := w.untold(); owed.Agent == nil || owed.Agent.Status != model.StatusIdle || w.telling.told("") {
		t.Errorf("what is owed is %+v", owed)
	}
}

// TestWhatIsOwedOfAUnitThatIsGoneHoldsNobodyUp, nor what its former agent says yet.
func TestWhatIsOwedOfAUnitThatIsGoneHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	w := newTellingOf(t)
	owe := func(d *desire) { // as where the store can't be reached
		d.mu.Lock()
		defer d.mu.Unlock()
		d.add(agentIs(model.StatusIdle, ""))
	}
	former := w.desire
	owe(former)
	if w.telling.told("") {
		t.Fatal("what is owed is told")
	}
	next := w.telling.of(former.name, former.id, w.model, func() {}, func() {})
	if w.telling.told("") {
		t.Error("the unit's next agent doesn't owe it")
	}
	next.tell(t.Context())
	if !w.telling.told("") {
		t.Error("it is told, and owed")
	}
	owe(former)
	if !w.telling.told("") {
		t.Error("a former agent holds everybody up")
	}
	owe(next)
	w.telling.forget(next.id)
	if !w.telling.told("") {
		t.Error("a unit that is gone holds everybody up")
	}
}

// TestNothingIsToldAfterTheEnd: what was waited for is told no more, and what is being told
// is waited for.
func TestNothingIsToldAfterTheEnd(t *testing.T) {
	t.Parallel()
	w := newTellingOf(t)
	executing := state.Report{Agent: &model.Status{Status: model.StatusExecuting, Message: "running start hook"}}
	w.sayIfLasts(t.Context(), executing)
	w.telling.end()
	if !w.rung.alarms[0].stopped {
		t.Error("its alarm goes off after the end")
	}

	w = newTellingOf(t)
	w.sayIfLasts(t.Context(), executing)
	give, err := w.hold(t.Context())
	w.must(err)
	rings := make(chan struct{})
	go func() { // as a clock does whose alarm goes off just then
		w.rung.alarms[0].stopped = true
		close(rings)
		w.rung.alarms[0].ring()
	}()
	<-rings
	ended := make(chan struct{})
	go func() {
		w.telling.end()
		close(ended)
	}()
	select {
	case <-ended:
		t.Error("it ends while something is being told")
	case <-time.After(20 * time.Millisecond): // it can't be seen that something doesn't happen
	}
	give()
	<-ended
	if s, err := w.model.StatusOf(t.Context(), state.AgentStatus, "app/0"); err != nil || s.Status != model.StatusExecuting {
		t.Errorf("the store has %v, %v", s, err)
	}
}

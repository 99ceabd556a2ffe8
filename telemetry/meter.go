package telemetry

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/juju/errors"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
)

// Meter measures one agent. It is safe for use by many goroutines.
type Meter struct {
	reader *sdk.ManualReader

	hooks, waits, tools, transactions, leases       metric.Float64Histogram
	retries, calls, lines, conflicts, faults, losts metric.Int64Counter
	waiting                                         metric.Int64UpDownCounter

	// of are the attributes of what is measured time and again, by its kind.
	of map[string]metric.MeasurementOption

	mu sync.Mutex
	// unseen says why not all that there is could be seen the last time.
	unseen  error
	retried history.Retries[unitOf]
}

// Sight is how things are when somebody asks.
type Sight struct {
	// Units counts the units of a model's applications by their status, Containers their
	// workload containers by their state.
	Units, Containers map[Counted]int64
	// Executing counts the units that are in a hook, Machines the machines with and
	// without an agent, by model.
	Executing map[string]int64
	Machines  map[Counted]int64
	// Free is how many bytes are free where the agent's files are; below 0: not known.
	Free int64
	// Trouble: the agent can't write to its store.
	Trouble bool
}

// The kinds of what is asked of the store.
const (
	kindRead   = "read"
	kindUpdate = "update"
	kindGrant  = "grant"
	kindKeep   = "keep"
	kindEnd    = "end"
)

// Counted says what is counted: what is of a model, and for units and containers of an
// application, in that state.
type Counted struct{ Model, Application, State string }

// Version is what the program was built from.
type Version struct{ Version, Commit string }

// seconds are the bounds of what is measured in seconds: of hooks from a millisecond to an
// hour, of the rest from ten microseconds.
var (
	long  = []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600}
	short = []float64{.00001, .000025, .00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5}
)

// NewMeter measures from now on. see says how things are; it is called when somebody asks,
// and what it can't tell is left out. more says where it is sent as well, see Sender.
func NewMeter(v Version, see func(context.Context) (Sight, error), more ...sdk.Option) (*Meter, error) {
	m := &Meter{reader: sdk.NewManualReader(), of: map[string]metric.MeasurementOption{}}
	for _, kind := range []string{kindRead, kindUpdate, kindGrant, kindKeep, kindEnd} {
		m.of[kind] = metric.WithAttributeSet(attribute.NewSet(attribute.String("kind", kind)))
	}
	meter := sdk.NewMeterProvider(append(more, sdk.WithReader(m.reader))...).Meter("github.com/unitd/unitd")
	var failed error
	note := func(err error) {
		if failed == nil {
			failed = err
		}
	}
	histogram := func(name, unit, description string, bounds []float64) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit(unit), metric.WithDescription(description), metric.WithExplicitBucketBoundaries(bounds...))
		note(err)
		return h
	}
	counter := func(name, unit, description string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
		note(err)
		return c
	}
	m.hooks = histogram("unitd.hook.duration", "s", "How long hooks and tasks ran, by how they ended.", long)
	m.waits = histogram("unitd.hook.wait.duration", "s", "How long units waited for their turn to run a hook.", long)
	m.tools = histogram("unitd.hook.tool.duration", "s", "How long the agent took to answer calls of hook tools.", short)
	m.transactions = histogram("unitd.store.transaction.duration", "s", "How long reads of the store, and transactions, took.", short)
	m.leases = histogram("unitd.store.lease.duration", "s", "How long the store took to give, keep and end leases.", short)
	m.retries = counter("unitd.hook.retries", "{run}", "Runs of hooks whose run before has failed.")
	m.calls = counter("unitd.hook.tool.calls", "{call}", "Calls of hook tools.")
	m.lines = counter("unitd.log.lines", "{line}", "Lines that units have logged.")
	m.conflicts = counter("unitd.store.conflicts", "{attempt}", "Attempts of transactions that were made again, as something that they had read had changed.")
	m.faults = counter("unitd.store.errors", "{error}", "Reads and transactions that the store has failed.")
	m.losts = counter("unitd.store.leases.lost", "{lease}", "Leases that had expired before the agent could keep them.")
	waiting, err := meter.Int64UpDownCounter("unitd.units.waiting", metric.WithUnit("{unit}"), metric.WithDescription("Units that wait for their turn to run a hook."))
	note(err)
	m.waiting = waiting
	note(m.states(meter, v, see))
	return m, errors.Annotate(failed, "cannot measure the agent")
}

// states registers what is read when somebody asks.
func (m *Meter) states(meter metric.Meter, v Version, see func(context.Context) (Sight, error)) error {
	var failed error
	gauge := func(name, unit, description string) metric.Int64ObservableGauge {
		g, err := meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
		if failed == nil {
			failed = err
		}
		return g
	}
	units := gauge("unitd.units", "{unit}", "Units by their workload status.")
	containers := gauge("unitd.containers", "{container}", "Workload containers by their state.")
	executing := gauge("unitd.units.executing", "{unit}", "Units that are in a hook.")
	machines := gauge("unitd.machines", "{machine}", "Machines by whether their agent is there.")
	free := gauge("unitd.disk.free", "By", "What is free on the disk of the agent's files.")
	trouble := gauge("unitd.store.trouble", "1", "Whether the agent can't write to its store.")
	build := gauge("unitd.build.info", "1", "What the agent was built from.")
	goroutines := gauge("unitd.process.goroutines", "{goroutine}", "Goroutines of the agent.")
	memory := gauge("unitd.process.memory", "By", "Memory that the agent has from the system.")
	if failed != nil {
		return failed
	}
	_, err := meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		o.ObserveInt64(build, 1, metric.WithAttributes(attribute.String("version", v.Version), attribute.String("commit", v.Commit), attribute.String("go", runtime.Version())))
		o.ObserveInt64(goroutines, int64(runtime.NumGoroutine()))
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		o.ObserveInt64(memory, int64(mem.Sys-mem.HeapReleased))
		s, err := see(ctx)
		m.noteUnseen(err) // and goes on: a reader would leave out all metrics for an error
		for of, n := range s.Units {
			o.ObserveInt64(units, n, of.attributes("status"))
		}
		for of, n := range s.Containers {
			o.ObserveInt64(containers, n, of.attributes("state"))
		}
		for of, n := range s.Machines {
			o.ObserveInt64(machines, n, metric.WithAttributes(attribute.String("model", of.Model), attribute.String("agent", of.State)))
		}
		for name, n := range s.Executing {
			o.ObserveInt64(executing, n, metric.WithAttributes(attribute.String("model", name)))
		}
		if s.Free >= 0 {
			o.ObserveInt64(free, s.Free)
		}
		o.ObserveInt64(trouble, map[bool]int64{true: 1}[s.Trouble])
		return nil
	}, units, containers, executing, machines, free, trouble, build, goroutines, memory)
	return err
}

func (c Counted) attributes(state string) metric.ObserveOption {
	return metric.WithAttributes(attribute.String("model", c.Model), attribute.String("application", c.Application), attribute.String(state, c.State))
}

// Observe counts what the agent tells; it is a machine.Config.Observer.
func (m *Meter) Observe(e machine.Event) {
	switch e.Kind {
	case machine.HookRun:
		m.run(e)
	case machine.HookWait:
		m.wait(e)
	case machine.LogLine:
		m.lines.Add(context.Background(), 1, metric.WithAttributes(attribute.String("model", e.Model), attribute.String("level", e.Log.Level)))
	}
}

func (m *Meter) run(e machine.Event) {
	ctx, app := context.Background(), e.Unit.Application()
	hook := string(e.Run.Hook.Kind)
	of := []attribute.KeyValue{attribute.String("model", e.Model), attribute.String("application", app), attribute.String("hook", hook)}
	m.hooks.Record(ctx, e.Run.Duration.Seconds(), metric.WithAttributes(append(of, attribute.String("outcome", string(e.Run.Outcome)))...))
	for _, c := range e.Run.Calls {
		m.tools.Record(ctx, c.Took.Seconds(), metric.WithAttributes(attribute.String("tool", c.Tool), attribute.Bool("failed", c.Code != 0)))
	}
	if e.Run.Tools > 0 {
		m.calls.Add(ctx, int64(e.Run.Tools), metric.WithAttributes(of...))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.retried.Again(unitOf{e.Model, e.Unit}, e.Run) {
		m.retries.Add(ctx, 1, metric.WithAttributes(of...))
	}
}

// wait counts a unit that waits for its turn, or doesn't any more.
func (m *Meter) wait(e machine.Event) {
	ctx, of := context.Background(), metric.WithAttributes(attribute.String("model", e.Model))
	if !e.Wait.Over {
		m.waiting.Add(ctx, 1, of)
		return
	}
	m.waiting.Add(ctx, -1, of)
	m.waits.Record(ctx, e.Wait.Took.Seconds(), of)
}

// transaction counts one that has ended: a read, or one that may write, which was tried so
// many times.
func (m *Meter) transaction(kind string, began time.Time, tries int, err error) {
	ctx, of := context.Background(), m.of[kind]
	m.transactions.Record(ctx, time.Since(began).Seconds(), of)
	if tries > 1 {
		m.conflicts.Add(ctx, int64(tries-1))
	}
	if err != nil {
		m.faults.Add(ctx, 1, of)
	}
}

// lease counts what was asked about one.
func (m *Meter) lease(kind string, began time.Time, err error) {
	ctx, of := context.Background(), m.of[kind]
	m.leases.Record(ctx, time.Since(began).Seconds(), of)
	switch {
	case err == nil:
	case errors.Is(err, errors.NotFound):
		m.losts.Add(ctx, 1)
	default:
		m.faults.Add(ctx, 1, of)
	}
}

// collect is all that was measured.
func (m *Meter) collect(ctx context.Context) (metricdata.ResourceMetrics, error) {
	var all metricdata.ResourceMetrics
	if err := m.reader.Collect(ctx, &all); err != nil {
		return all, errors.Trace(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return all, errors.Trace(m.unseen)
}

func (m *Meter) noteUnseen(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unseen = err
}

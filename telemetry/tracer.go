package telemetry

import (
	"context"
	"crypto/sha256"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
)

// Tracer makes spans of hook runs, of their tool calls and of their commits. A run is a child
// of the commit that wrote what its hook tells of, whichever host that was made on, or of the
// span of what people have done. It is a machine.Tracer.
type Tracer struct {
	tracer trace.Tracer

	mu sync.Mutex
	// running are the spans of units that are in a hook, for the lines that they log.
	running map[unitOf]trace.SpanContext
}

// unitOf names a unit among those of all models.
type unitOf struct {
	model string
	unit  model.UnitName
}

// NewTracer is a tracer whose spans go to a provider of NewIDs.
func NewTracer(p trace.TracerProvider) *Tracer {
	return &Tracer{tracer: p.Tracer("github.com/unitd/unitd"), running: map[unitOf]trace.SpanContext{}}
}

// scope is how a traceparent is read and written.
var scope propagation.TraceContext

// ValidTraceparent says whether a text names a span, as
// https://www.w3.org/TR/trace-context/#traceparent-header has it.
func ValidTraceparent(text string) bool { return parent(text).IsValid() }

func parent(text string) trace.SpanContext {
	ctx := scope.Extract(context.Background(), propagation.MapCarrier{"traceparent": text})
	return trace.SpanContextFromContext(ctx)
}

func traceparent(c trace.SpanContext) string {
	carrier := propagation.MapCarrier{}
	scope.Inject(trace.ContextWithSpanContext(context.Background(), c), carrier)
	return carrier.Get("traceparent")
}

// Caused is machine.Tracer's.
func (t *Tracer) Caused(c machine.Cause) {
	traceID, spanID := cause(c).ids()
	ctx := context.Background()
	if p := parent(c.Parent); p.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, p)
	}
	_, span := t.tracer.Start(withIDs(ctx, traceID, spanID), c.Name, trace.WithTimestamp(c.At), trace.WithAttributes(modelAttributes(c.Model, c.UUID)...))
	span.End(trace.WithTimestamp(c.At))
}

// Began is machine.Tracer's.
func (t *Tracer) Began(r machine.TracedRun) machine.TracedSpan {
	if r.First {
		t.Caused(r.Cause)
	}
	ctx := context.Background()
	if p := t.span(cause(r.Cause)); p.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, p)
	}
	of := append(modelAttributes(r.Model, r.UUID),
		attribute.String("unitd.unit", string(r.Unit)), attribute.String("unitd.application", r.Unit.Application()),
		attribute.Int64("unitd.run", r.Run), attribute.String("unitd.hook.kind", string(r.Hook.Kind)), attribute.String("unitd.charm", r.Charm))
	if r.Hook.IsRelation() {
		of = append(of, attribute.String("unitd.relation", r.Hook.RelationRef()), attribute.String("unitd.remote.application", r.Hook.RemoteApp), attribute.String("unitd.remote.unit", string(r.Hook.RemoteUnit)))
	}
	if former := parent(r.Traceparent); former.IsValid() {
		ctx = withIDs(ctx, former.TraceID(), former.SpanID())
	}
	_, span := t.tracer.Start(ctx, r.Hook.Name(), trace.WithTimestamp(r.Started), trace.WithAttributes(of...))
	s := &runSpan{tracer: t, span: span, of: unitOf{r.Model, r.Unit}}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running[s.of] = span.SpanContext()
	return s
}

// context is one with the span of the run that a unit is in, if it is in any.
func (t *Tracer) context(of unitOf) context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	return trace.ContextWithSpanContext(context.Background(), t.running[of])
}

// runSpan is a run that has begun.
type runSpan struct {
	tracer *Tracer
	span   trace.Span
	of     unitOf
}

// Traceparent is machine.TracedSpan's.
func (s *runSpan) Traceparent() string { return traceparent(s.span.SpanContext()) }

// Commit is machine.TracedSpan's. It is known before there is the commit, as the commit
// writes it.
func (s *runSpan) Commit() string {
	return traceparent(s.span.SpanContext().WithSpanID(s.commitID()))
}

func (s *runSpan) commitID() trace.SpanID {
	id := s.span.SpanContext().SpanID()
	_, spanID := derived("commit", string(id[:]))
	return spanID
}

// Ended is machine.TracedSpan's.
func (s *runSpan) Ended(e history.Entry, commit time.Time, took time.Duration) {
	ctx, end := trace.ContextWithSpan(context.Background(), s.span), e.Started.Add(e.Duration)
	for _, c := range e.Calls {
		_, span := s.tracer.tracer.Start(ctx, c.Tool, trace.WithTimestamp(e.Started.Add(c.At)), trace.WithAttributes(attribute.String("unitd.tool.call", c.String()), attribute.Int("process.exit.code", c.Code)))
		if c.Code != 0 {
			span.SetStatus(codes.Error, "exit status "+strconv.Itoa(c.Code))
		}
		span.End(trace.WithTimestamp(e.Started.Add(c.At + c.Took)))
	}
	if !commit.IsZero() {
		_, span := s.tracer.tracer.Start(withIDs(ctx, s.span.SpanContext().TraceID(), s.commitID()), "commit", trace.WithTimestamp(commit), trace.WithAttributes(attribute.Int64("unitd.store.revision", e.Rev), attribute.String("unitd.written", e.Written.String())))
		end = commit.Add(took)
		span.End(trace.WithTimestamp(end))
	}
	s.span.SetAttributes(attribute.String("unitd.hook.outcome", string(e.Outcome)), attribute.Int("unitd.tool.calls", e.Tools), attribute.Int("process.exit.code", e.Exit))
	if len(e.Changed) > 0 {
		s.span.SetAttributes(attribute.StringSlice("unitd.changed", e.Changed))
	}
	if e.Outcome != history.Committed {
		s.span.SetStatus(codes.Error, e.Message)
	}
	s.span.End(trace.WithTimestamp(end))
	s.tracer.mu.Lock()
	defer s.tracer.mu.Unlock()
	if s.tracer.running[s.of].Equal(s.span.SpanContext()) {
		delete(s.tracer.running, s.of)
	}
}

func modelAttributes(name, uuid string) []attribute.KeyValue {
	return []attribute.KeyValue{attribute.String("unitd.model.name", name), attribute.String("unitd.model.uuid", uuid)}
}

// cause is what a run follows from, as spans name it.
type cause machine.Cause

// ids are those of the cause's own span: the same whoever works them out, so that agents
// needn't tell each other. The trace is that of what the cause is part of, if it is.
func (c cause) ids() (trace.TraceID, trace.SpanID) {
	traceID, spanID := derived(c.UUID, c.Key)
	if p := parent(c.Parent); p.IsValid() {
		traceID = p.TraceID()
	}
	return traceID, spanID
}

// span is the one that a run is a child of; not valid: it is of none. Whether it is sampled is
// what its own agent has found or will find: samplers decide by the ids.
func (t *Tracer) span(c cause) trace.SpanContext {
	p := parent(c.Parent)
	if c.Key == "" {
		return p
	}
	traceID, spanID := c.ids()
	flags := p.TraceFlags()
	if !p.IsValid() {
		_, never := t.tracer.Start(withIDs(context.Background(), traceID, spanID), c.Name) // it isn't ended, and so not sent
		flags = never.SpanContext().TraceFlags()
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID, TraceFlags: flags, Remote: true})
}

// derived are ids that follow from words.
func derived(words ...string) (t trace.TraceID, s trace.SpanID) {
	h := sha256.New()
	for _, w := range words {
		h.Write([]byte(strconv.Itoa(len(w)) + ":" + w))
	}
	sum := h.Sum(nil)
	copy(t[:], sum)
	copy(s[:], sum[len(t):])
	return t, s
}

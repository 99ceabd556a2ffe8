package telemetry

import (
	"context"
	"crypto/rand"

	"go.opentelemetry.io/otel/trace"
)

// ids gives spans the ids that their context says, and random ones else.
type ids struct{}

type idsKey struct{}

type idsOf struct {
	trace trace.TraceID
	span  trace.SpanID
}

// withIDs is ctx for the start of a span of these ids.
func withIDs(ctx context.Context, t trace.TraceID, s trace.SpanID) context.Context {
	return context.WithValue(ctx, idsKey{}, idsOf{t, s})
}

// NewIDs is the SDK's IDGenerator's.
func (ids) NewIDs(ctx context.Context) (t trace.TraceID, s trace.SpanID) {
	if of, ok := ctx.Value(idsKey{}).(idsOf); ok {
		return of.trace, of.span
	}
	_, _ = rand.Read(t[:]) // it never fails
	_, _ = rand.Read(s[:])
	return t, s
}

// NewSpanID is the SDK's IDGenerator's.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) (s trace.SpanID) {
	if of, ok := ctx.Value(idsKey{}).(idsOf); ok {
		return of.span
	}
	_, _ = rand.Read(s[:])
	return s
}

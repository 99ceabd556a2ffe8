package telemetry

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/juju/errors"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/unitd/unitd/machine"
)

// OTLP says where traces, metrics and logs are sent by OpenTelemetry's protocol over HTTP.
// How else (headers, certificates, compression, time-outs, sampling) the SDK reads from its
// own variables, OTEL_*.
type OTLP struct {
	// Endpoint is the URL of a collector, "http://127.0.0.1:4318"; empty: nothing is sent.
	Endpoint string
}

// Check says what is wrong with it. The errors are for people.
func (o OTLP) Check() error {
	if o.Endpoint == "" {
		return nil
	}
	u, err := url.Parse(o.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.Errorf("invalid value %q for --otlp: expected a collector's URL without a password, like http://127.0.0.1:4318 (a token goes into $OTEL_EXPORTER_OTLP_HEADERS)", o.Endpoint)
	}
	return nil
}

// Sender sends what one agent says to a collector. It never holds the agent up: what can't be
// sent in time is dropped.
type Sender struct {
	// Tracer is for machine.Config.
	Tracer *Tracer
	// Metrics are for NewMeter.
	Metrics []sdkmetric.Option
	// Log sends what the agent itself logs.
	Log slog.Handler

	lines  log.Logger
	flush  []func(context.Context) error
	ends   []func(context.Context) error
	failed func(error)
}

// Start begins to send. host names this host, id this agent among others; failed is told,
// now and then, of what couldn't be sent.
func (o OTLP) Start(v Version, host, id string, failed func(error)) (_ *Sender, err error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	of := resource.NewSchemaless(
		attribute.String("service.name", "unitd"), attribute.String("service.version", v.Version), attribute.String("service.instance.id", id),
		attribute.String("host.name", host), attribute.String("unitd.commit", v.Commit))
	s := &Sender{failed: seldom(failed)}
	for _, begin := range []func(base string, of *resource.Resource) error{s.traces, s.metrics, s.logs} {
		if err := begin(strings.TrimSuffix(o.Endpoint, "/"), of); err != nil {
			s.End()
			return nil, errors.Annotate(err, "cannot send to a collector")
		}
	}
	return s, nil
}

func (s *Sender) traces(base string, of *resource.Resource) error {
	to, err := otlptracehttp.New(context.Background(), otlptracehttp.WithEndpointURL(base+"/v1/traces"))
	if err != nil {
		return errors.Trace(err)
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans{to, s.failed}), sdktrace.WithResource(of), sdktrace.WithIDGenerator(ids{}))
	s.flush = append(s.flush, p.ForceFlush)
	s.ends = append(s.ends, p.Shutdown)
	s.Tracer = NewTracer(p)
	return nil
}

func (s *Sender) metrics(base string, of *resource.Resource) error {
	to, err := otlpmetrichttp.New(context.Background(), otlpmetrichttp.WithEndpointURL(base+"/v1/metrics"))
	if err != nil {
		return errors.Trace(err)
	}
	r := sdkmetric.NewPeriodicReader(metrics{to, s.failed})
	s.flush = append(s.flush, r.ForceFlush)
	s.ends = append(s.ends, r.Shutdown)
	s.Metrics = []sdkmetric.Option{sdkmetric.WithReader(r), sdkmetric.WithResource(of)}
	return nil
}

func (s *Sender) logs(base string, of *resource.Resource) error {
	to, err := otlploghttp.New(context.Background(), otlploghttp.WithEndpointURL(base+"/v1/logs"))
	if err != nil {
		return errors.Trace(err)
	}
	p := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(lines{to, s.failed})), sdklog.WithResource(of))
	s.flush = append(s.flush, p.ForceFlush)
	s.ends = append(s.ends, p.Shutdown)
	s.lines = p.Logger("github.com/unitd/unitd")
	s.Log = otelslog.NewHandler("github.com/unitd/unitd/agent", otelslog.WithLoggerProvider(p))
	return nil
}

// Observe sends the lines that units log, as part of the run that they are in; it is a
// machine.Config.Observer.
func (s *Sender) Observe(e machine.Event) {
	if e.Kind != machine.LogLine {
		return
	}
	var r log.Record
	r.SetTimestamp(e.Log.Time)
	r.SetSeverity(severity(e.Log.Level))
	r.SetSeverityText(e.Log.Level)
	r.SetBody(attribute.StringValue(e.Log.Message))
	r.AddAttributes(attribute.String("unitd.model.name", e.Model), attribute.String("unitd.unit", string(e.Unit)), attribute.String("unitd.log.module", e.Log.Module))
	s.lines.Emit(s.Tracer.context(unitOf{e.Model, e.Unit}), r)
}

// severity is how OpenTelemetry calls a level of Juju's.
func severity(level string) log.Severity {
	switch level {
	case "TRACE":
		return log.SeverityTrace
	case "DEBUG":
		return log.SeverityDebug
	case "INFO":
		return log.SeverityInfo
	case "WARNING":
		return log.SeverityWarn
	case "ERROR":
		return log.SeverityError
	case "CRITICAL":
		return log.SeverityFatal
	}
	return log.SeverityUndefined
}

// lastSent is how long the end of an agent waits for what is still to be sent.
const lastSent = 3 * time.Second

// Flush sends what is left, for a while.
func (s *Sender) Flush() { atOnce(s.flush) }

// End sends what is left, for a while, and ends.
func (s *Sender) End() { atOnce(s.ends) }

// atOnce calls each with a context of lastSent.
func atOnce(calls []func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), lastSent)
	defer cancel()
	var all sync.WaitGroup
	for _, call := range calls {
		all.Go(func() { _ = call(ctx) }) // it has been said, or there is nobody to hear it
	}
	all.Wait()
}

// seldom is tell, called once a minute at most.
func seldom(tell func(error)) func(error) {
	var mu sync.Mutex
	var last time.Time
	return func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(last) >= time.Minute {
			last = time.Now()
			tell(err)
		}
	}
}

// What sends says here what it can't send: the SDK would say it on stderr, each time.
type (
	spans struct {
		sdktrace.SpanExporter
		failed func(error)
	}
	metrics struct {
		sdkmetric.Exporter
		failed func(error)
	}
	lines struct {
		sdklog.Exporter
		failed func(error)
	}
)

// ExportSpans is the SDK's SpanExporter's.
func (s spans) ExportSpans(ctx context.Context, all []sdktrace.ReadOnlySpan) error {
	return told(s.SpanExporter.ExportSpans(ctx, all), s.failed)
}

// Export is the SDK's metric Exporter's.
func (m metrics) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	return told(m.Exporter.Export(ctx, all), m.failed)
}

// Export is the SDK's log Exporter's.
func (l lines) Export(ctx context.Context, all []sdklog.Record) error {
	return told(l.Exporter.Export(ctx, all), l.failed)
}

func told(err error, tell func(error)) error {
	if err != nil {
		tell(err)
	}
	return nil
}

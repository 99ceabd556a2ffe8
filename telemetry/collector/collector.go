// Package collector is a collector of OpenTelemetry's for tests: it takes what is sent by
// OTLP over HTTP, as protobuf or as JSON, and keeps it to be looked at.
package collector

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a span, as far as tests look at it. IDs are in hexadecimal.
type Span struct {
	Trace, ID, Parent, Name string
	Service                 string
	// Attributes are the text and the numbers of it.
	Attributes map[string]string
	Failed     bool
	Began      time.Time
}

// Line is a line of a log.
type Line struct{ Text, Level, Trace, Span string }

// Collector has all that was sent to it. It is safe for use by many goroutines.
type Collector struct {
	// URL is where it listens, on the loopback.
	URL string

	mu      sync.Mutex
	spans   []Span
	metrics map[string]bool
	lines   []Line
	tokens  map[string]bool
	news    chan struct{}
}

// New listens until the test ends.
func New(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{metrics: map[string]bool{}, tokens: map[string]bool{}, news: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	take := func(path string, take func([]byte, string) error) {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			c.mu.Lock()
			defer c.mu.Unlock()
			if err == nil {
				err = take(b, r.Header.Get("Content-Type"))
			}
			if err != nil {
				t.Errorf("%s got what it can't read: %v", path, err)
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			c.tokens[r.Header.Get("Authorization")] = true
			select {
			case c.news <- struct{}{}:
			default:
			}
		})
	}
	take("/v1/traces", c.takeSpans)
	take("/v1/metrics", c.takeMetrics)
	take("/v1/logs", c.takeLogs)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// Spans are those that have come, by when they began.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.spans)
	slices.SortStableFunc(all, func(a, b Span) int { return a.Began.Compare(b.Began) })
	return all
}

// Lines are those that have come.
func (c *Collector) Lines() []Line {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.lines)
}

// Metric says whether a metric of that name has come.
func (c *Collector) Metric(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.metrics[name]
}

// Authorized says whether somebody has sent that as its authorization.
func (c *Collector) Authorized(as string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tokens[as]
}

// Until waits until is says so, which is asked again whenever something has come.
func (c *Collector) Until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for !is() {
		select {
		case <-c.news:
		case <-t.Context().Done():
			t.Fatalf("the test ends, and %s hasn't come", what)
		case <-time.After(time.Minute):
			t.Fatalf("%s hasn't come", what)
		}
	}
}

func (c *Collector) takeSpans(b []byte, kind string) error {
	if strings.HasPrefix(kind, "application/json") {
		return c.takeSpansOfJSON(b)
	}
	var r coltrace.ExportTraceServiceRequest
	if err := proto.Unmarshal(b, &r); err != nil {
		return err
	}
	for _, of := range r.ResourceSpans {
		service := words(of.GetResource().GetAttributes())["service.name"]
		for _, in := range of.ScopeSpans {
			for _, s := range in.Spans {
				c.spans = append(c.spans, Span{
					Trace: hex.EncodeToString(s.TraceId), ID: hex.EncodeToString(s.SpanId), Parent: hex.EncodeToString(s.ParentSpanId),
					Name: s.Name, Service: service, Attributes: words(s.Attributes), Failed: s.GetStatus().GetCode() == 2, Began: time.Unix(0, int64(s.StartTimeUnixNano)),
				})
			}
		}
	}
	return nil
}

// takeSpansOfJSON takes what Ops sends: ids are in hexadecimal there, and numbers are text.
func (c *Collector) takeSpansOfJSON(b []byte) error {
	var r struct {
		ResourceSpans []struct {
			Resource struct {
				Attributes []struct {
					Key   string
					Value struct{ StringValue string }
				}
			}
			ScopeSpans []struct {
				Spans []struct{ TraceID, SpanID, ParentSpanID, Name string }
			}
		}
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return err
	}
	for _, of := range r.ResourceSpans {
		service := ""
		for _, a := range of.Resource.Attributes {
			if a.Key == "service.name" {
				service = a.Value.StringValue
			}
		}
		for _, in := range of.ScopeSpans {
			for _, s := range in.Spans {
				c.spans = append(c.spans, Span{Trace: s.TraceID, ID: s.SpanID, Parent: s.ParentSpanID, Name: s.Name, Service: service})
			}
		}
	}
	return nil
}

func (c *Collector) takeMetrics(b []byte, _ string) error {
	var r colmetrics.ExportMetricsServiceRequest
	if err := proto.Unmarshal(b, &r); err != nil {
		return err
	}
	for _, of := range r.ResourceMetrics {
		for _, in := range of.ScopeMetrics {
			for _, m := range in.Metrics {
				c.metrics[m.Name] = true
			}
		}
	}
	return nil
}

func (c *Collector) takeLogs(b []byte, _ string) error {
	var r collogs.ExportLogsServiceRequest
	if err := proto.Unmarshal(b, &r); err != nil {
		return err
	}
	for _, of := range r.ResourceLogs {
		for _, in := range of.ScopeLogs {
			for _, l := range in.LogRecords {
				c.lines = append(c.lines, Line{l.GetBody().GetStringValue(), l.SeverityText, hex.EncodeToString(l.TraceId), hex.EncodeToString(l.SpanId)})
			}
		}
	}
	return nil
}

func words(attributes []*common.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range attributes {
		if text := a.GetValue().GetStringValue(); text != "" {
			all[a.Key] = text
		} else {
			all[a.Key] = strings.TrimPrefix(a.GetValue().String(), "int_value:")
		}
	}
	return all
}

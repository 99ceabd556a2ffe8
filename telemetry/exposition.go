package telemetry

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// contentType is that of the text format of Prometheus.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// expose writes what was measured in the text format of Prometheus. Names become those that
// its conventions ask for: "unitd.hook.duration" in seconds is unitd_hook_duration_seconds,
// and what only grows ends in _total. The exporter of OpenTelemetry's own isn't used, as it
// costs each start of unitd half a millisecond, whether anything is measured or not.
func expose(w io.Writer, all metricdata.ResourceMetrics) error {
	var b strings.Builder
	for _, scope := range all.ScopeMetrics {
		metrics := slices.Clone(scope.Metrics)
		slices.SortFunc(metrics, func(a, b metricdata.Metrics) int { return cmp.Compare(a.Name, b.Name) })
		for _, m := range metrics {
			exposeOne(&b, m)
		}
	}
	_, err := io.WriteString(w, b.String())
	return errors.Trace(err)
}

func exposeOne(b *strings.Builder, m metricdata.Metrics) {
	name := strings.ReplaceAll(m.Name, ".", "_")
	switch m.Unit {
	case "s":
		name += "_seconds"
	case "By":
		name += "_bytes"
	}
	head := func(kind string) {
		fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", name, strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(m.Description), name, kind)
	}
	switch data := m.Data.(type) {
	case metricdata.Gauge[int64]:
		head("gauge")
		points(b, name, data.DataPoints)
	case metricdata.Sum[int64]:
		if data.IsMonotonic {
			name += "_total"
			head("counter")
		} else { // it goes down as well
			head("gauge")
		}
		points(b, name, data.DataPoints)
	case metricdata.Histogram[float64]:
		head("histogram")
		for _, p := range sorted(data.DataPoints, func(p metricdata.HistogramDataPoint[float64]) attribute.Set { return p.Attributes }) {
			of, sum := labels(p.Attributes), uint64(0)
			for i, n := range p.BucketCounts {
				sum += n
				bound := math.Inf(1)
				if i < len(p.Bounds) {
					bound = p.Bounds[i]
				}
				sample(b, name+"_bucket", append(slices.Clone(of), label("le", number(bound))), strconv.FormatUint(sum, 10))
			}
			sample(b, name+"_sum", of, number(p.Sum))
			sample(b, name+"_count", of, strconv.FormatUint(p.Count, 10))
		}
	}
}

func points(b *strings.Builder, name string, all []metricdata.DataPoint[int64]) {
	for _, p := range sorted(all, func(p metricdata.DataPoint[int64]) attribute.Set { return p.Attributes }) {
		sample(b, name, labels(p.Attributes), strconv.FormatInt(p.Value, 10))
	}
}

// sorted are points in the order of their labels, so that the same is written the same way.
func sorted[T any](all []T, of func(T) attribute.Set) []T {
	all = slices.Clone(all)
	slices.SortFunc(all, func(x, y T) int { return slices.Compare(labels(of(x)), labels(of(y))) })
	return all
}

// labels are a point's attributes, as they are written; the set has them in their order.
func labels(s attribute.Set) []string {
	var out []string
	for i := s.Iter(); i.Next(); {
		kv := i.Attribute()
		out = append(out, label(strings.ReplaceAll(string(kv.Key), ".", "_"), kv.Value.String()))
	}
	return out
}

func label(name, value string) string {
	return name + `="` + strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(value) + `"`
}

func sample(b *strings.Builder, name string, labels []string, value string) {
	b.WriteString(name)
	if len(labels) > 0 {
		b.WriteString("{" + strings.Join(labels, ",") + "}")
	}
	b.WriteString(" " + value + "\n")
}

func number(f float64) string {
	if math.IsInf(f, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

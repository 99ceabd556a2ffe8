package tools

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
)

func addMetricTool() Tool {
	return Tool{
		Name:    "add-metric",
		Args:    "<key>=<value> ...",
		Summary: "add metrics",
		Details: `Metrics could be added in collect-metrics, a hook that is going out of use and isn't
run here: in any other hook they are refused.`,
		make: func(*hookcontext.Context) command { return &addMetric{} },
	}
}

type addMetric struct {
	labels  string
	metrics map[string]string
}

func (t *addMetric) declare(f *flags) {
	f.StringVar(&t.labels, "l", "", "labels to be associated with metric values")
	f.StringVar(&t.labels, "labels", "", "")
}

func (t *addMetric) parse(args []string) (err error) {
	if len(args) == 0 {
		return errors.New("no metrics specified")
	}
	if t.metrics, err = metrics(args); err != nil {
		return errors.Annotate(err, "invalid metrics")
	}
	if t.labels != "" {
		if _, err := metrics(strings.Split(t.labels, ",")); err != nil {
			return errors.Annotate(err, "invalid labels")
		}
	}
	return nil
}

// metrics are keyValues whose values may not be empty.
func metrics(args []string) (map[string]string, error) {
	values, err := keyValues(args)
	for _, k := range slices.Sorted(maps.Keys(values)) {
		if values[k] == "" {
			return nil, errors.Errorf(`expected "key=value", got "%s="`, k)
		}
	}
	return values, err
}

func (t *addMetric) run(*call) error {
	for _, k := range slices.Sorted(maps.Keys(t.metrics)) {
		if strings.HasPrefix(k, "juju") {
			return errors.NewNotValid(nil, fmt.Sprintf("%s uses a reserved prefix", k))
		}
	}
	return errors.New("cannot record metric: metrics not allowed in this context")
}

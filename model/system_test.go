package model_test

import (
	"testing"

	"github.com/unitd/unitd/model"
)

func TestASystemIsToldInALine(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]model.System{
		"":                           {},
		"running":                    {State: "running"},
		"degraded: a.service failed": {State: "degraded", Failed: []string{"a.service"}},
		"degraded: a.service, b.service and c.service failed":         {State: "degraded", Failed: []string{"a.service", "b.service", "c.service"}},
		"degraded: a.service, b.service, c.service and 2 more failed": {State: "degraded", Failed: []string{"a.service", "b.service", "c.service", "d.service", "e.service"}},
	} {
		if got := s.String(); got != want {
			t.Errorf("%+v is %q, want %q", s, got, want)
		}
		if !s.Equal(s) || s.Equal(model.System{State: "starting"}) {
			t.Errorf("%+v equals another one, or not itself", s)
		}
	}
}

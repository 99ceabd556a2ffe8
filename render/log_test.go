package render

import (
	"testing"
	"time"

	"github.com/unitd/unitd/debuglog"
)

func TestLogLinesAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	e := debuglog.Entry{
		Time:   time.Date(2026, 3, 3, 9, 0, 2, 0, time.UTC),
		Entity: "unit-shop-0", Level: "INFO", Module: "unit.shop/0.juju-log", Message: "opened the till",
	}
	for _, test := range []struct {
		name    string
		date    bool
		colours bool
		want    string
	}{
		{"the time of day", false, false, "unit-shop-0: 09:00:02 INFO unit.shop/0.juju-log opened the till"},
		{"with the date", true, false, "unit-shop-0: 2026-03-03 09:00:02 INFO unit.shop/0.juju-log opened the till"},
		{"the level in colour", false, true, "unit-shop-0: 09:00:02 \x1b[94mINFO\x1b[0m unit.shop/0.juju-log opened the till"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := LogLine(e, true, test.date, test.colours); got != test.want {
				t.Errorf("have %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestLogLinesDoNothingToATerminal(t *testing.T) {
	t.Parallel()
	e := debuglog.Entry{Entity: "unit-shop-0", Level: "INFO", Module: "unit.shop/0.install", Message: "a\tb\x1b[31mred\x07\u009b2Jé"}
	want := "unit-shop-0: 00:00:00 INFO unit.shop/0.install a\tb [31mred  2Jé"
	if got := LogLine(e, true, false, false); got != want {
		t.Errorf("have %q\nwant %q", got, want)
	}
}

func TestAnEntryIsOneLineForPrograms(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 3, 10, 0, 2, 5, time.FixedZone("east", 3600))
	trace := debuglog.Entry{Time: at, Entity: "unit-my-shop-0", Level: "ERROR", Module: "unit.my-shop/0.juju-log", Message: "Traceback:\n\t\x1b[1m\"x\" = 1"}
	plain := debuglog.Entry{Time: at, Entity: "machine-0", Level: "INFO", Module: "unitd", Message: "said"}
	for _, test := range []struct {
		name, format, want string
		e                  debuglog.Entry
	}{
		{"an object", "json", `{"time":"2026-03-03T09:00:02.000000005Z","entity":"unit-my-shop-0","level":"ERROR","module":"unit.my-shop/0.juju-log","message":"Traceback:\n\t\u001b[1m\"x\" = 1","unit":"my-shop/0"}`, trace},
		{"an object of who is no unit", "json", `{"time":"2026-03-03T09:00:02.000000005Z","entity":"machine-0","level":"INFO","module":"unitd","message":"said"}`, plain},
		{"pairs", "logfmt", `time=2026-03-03T09:00:02.000000005Z level=error msg="Traceback:\n\t\x1b[1m\"x\" = 1" entity=unit-my-shop-0 module=unit.my-shop/0.juju-log unit=my-shop/0`, trace},
		{"pairs of who is no unit", "logfmt", `time=2026-03-03T09:00:02.000000005Z level=info msg=said entity=machine-0 module=unitd`, plain},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := LogRecord(test.e, test.format); got != test.want {
				t.Errorf("have %s\nwant %s", got, test.want)
			}
		})
	}
}

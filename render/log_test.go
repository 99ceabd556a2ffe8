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

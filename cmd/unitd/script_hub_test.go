package main_test

import (
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/unitd/unitd/charmhub/hubtest"
)

// hubKey is what a script's hub is kept under, a *scriptHub.
type hubKey struct{}

type scriptHub struct{ *hubtest.Server }

// cmdHub is "hub DIR".
func cmdHub(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hub DIR")
	}
	hub := ts.Value(hubKey{}).(*scriptHub)
	hub.Server = hubtest.Start(ts.MkAbs(args[0]))
	ts.Defer(hub.Close)
	ts.Setenv("CHARMHUB_URL", hub.URL)
}

// cmdHubEnds is "hub-ends".
func cmdHubEnds(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: hub-ends")
	}
	ts.Value(hubKey{}).(*scriptHub).Close()
}

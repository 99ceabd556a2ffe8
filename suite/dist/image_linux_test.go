package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/pebble"
	"github.com/unitd/unitd/pebble/pebbletest"
	"github.com/unitd/unitd/workload"
)

// inContainer is what a command prints in a container of the image that an archive has:
// read, unpacked and run as unitd does with those of charms, by the program unitd. The
// command is found by the PATH that the image says.
func inContainer(t *testing.T, unitd, archive string, command ...string) string {
	t.Helper()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(errors.Details(err))
		}
	}
	// Sockets are in it, and their paths have to be short.
	dir, err := os.MkdirTemp("", "d")
	ok(err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cache := &oci.Cache{Dir: filepath.Join(dir, "images")}
	source, err := oci.ReadSource("docker-archive:" + archive)
	ok(err)
	resolved, err := cache.Resolve(t.Context(), source)
	ok(err)
	defer resolved.Release()
	source.Reference, err = oci.Parse(resolved.Reference)
	ok(err)

	program, changed := pebbletest.Program(t), make(chan struct{}, 1)
	cells := &isolate.Cells{Dir: filepath.Join(dir, "cells"), Program: unitd}
	u := workload.New(workload.Options{
		Cells: cells, Images: cache, Clock: clock.WallClock, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Pebble: func() (string, error) { return program, nil },
		Told:   func(string) time.Time { return time.Time{} },
		Changed: func() {
			select {
			case changed <- struct{}{}:
			default:
			}
		},
	})
	c := workload.Container{
		Name: "image", Key: isolate.ContainerKey("model/unit-app-0", "image"), ID: "1", Image: source, Digest: resolved.Digest,
		Dir: filepath.Join(dir, "image"), Log: filepath.Join(dir, "image.log"), Data: dir,
	}
	ok(u.Set(t.Context(), nil, []workload.Container{c}))
	defer func() {
		ok(u.Remove(t.Context()))
		if keys, err := cells.Keys(); err != nil || len(keys) > 0 {
			t.Errorf("left behind: %v, %v", keys, err)
		}
	}()
	for late := time.After(3 * time.Minute); ; {
		states := u.States()
		if len(states) == 1 && states[0].Phase == workload.Running {
			break
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("the container is %+v", states)
		}
	}
	var out bytes.Buffer
	p, err := pebble.New(c.Socket()).Exec(t.Context(), pebble.ExecOptions{Command: command, Dir: "/", Stdout: &out})
	ok(err)
	ok(p.Wait())
	return out.String()
}

package testcharms_test

import (
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/unitd/unitd/script"
	"github.com/unitd/unitd/testcharms"
)

// door is a world that a benchmark plays in, as a test in Python does.
type door struct {
	testing.TB
	in  *json.Encoder
	out *json.Decoder
}

func newDoor(b *testing.B) *door {
	b.Helper()
	dir, err := testcharms.Programs()
	if err != nil {
		b.Fatal(err)
	}
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	d := &script.Door{Params: script.Params{Unitd: filepath.Join(dir, "unitd")}, In: inRead, Out: outWrite}
	ended := make(chan error, 1)
	go func() {
		err := d.Serve(b.Context())
		outWrite.CloseWithError(errors.New("the world has ended"))
		ended <- err
	}()
	b.Cleanup(func() {
		inWrite.Close()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	w := &door{b, json.NewEncoder(inWrite), json.NewDecoder(outRead)}
	if err := w.out.Decode(&script.Told{}); err != nil {
		b.Fatal(err)
	}
	return w
}

// do carries out a command, and says how long that took.
func (d *door) do(words ...string) time.Duration {
	d.Helper()
	begun := time.Now()
	var told script.Told
	if err := d.in.Encode(script.Asked{Command: words}); err != nil {
		d.Fatal(err)
	}
	if err := d.out.Decode(&told); err != nil {
		d.Fatal(err)
	}
	if told.Error != "" {
		d.Fatalf("%q: %s", words, told.Error)
	}
	return time.Since(begun)
}

// BenchmarkRestore compares going back to a snapshot of two charms with Ops that are related with
// deploying and relating them.
func BenchmarkRestore(b *testing.B) {
	venv := venvOfOps(b)
	w := newDoor(b)
	deployed := w.do("deploy", testcharms.CopyPython(b, "mint", venv), "mint") + w.do("deploy", testcharms.CopyPython(b, "purse", venv), "purse") +
		w.do("integrate", "mint", "purse") + w.do("settle")
	w.do("snapshot", "deployed")
	var took []time.Duration
	for b.Loop() {
		w.do("advance", "6m")
		took = append(took, w.do("restore", "deployed"))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(middle(took), "ms-restore")
	b.ReportMetric(float64(deployed.Microseconds())/1000, "ms-deploy")
	b.ReportMetric(middle(took)*1000/float64(deployed.Microseconds()), "x-deploy")
}

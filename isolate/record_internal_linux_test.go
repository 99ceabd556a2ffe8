package isolate

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/unitd/unitd/durable"
)

func TestRecordsThatOutliveABootAreDurableBeforeTheyTakeThePlaceOfFormerOnes(t *testing.T) {
	t.Parallel()
	var steps []string
	disk := durable.Disk{Around: func(s durable.Step, _, whole func() error) error {
		steps = append(steps, string(s.Do))
		return whole()
	}}
	dir := t.TempDir()
	for name, save := range map[string]func() error{
		networkFile: (&bridge{dir: dir, disk: disk}).save,
		recordName:  (&Cell{cells: &Cells{Disk: disk}, dir: dir}).save,
	} {
		steps = nil
		if err := save(); err != nil {
			t.Fatal(err)
		}
		var v any
		if err := readRecord(filepath.Join(dir, name), &v); err != nil {
			t.Error(err)
		}
		if got := strings.Join(steps, " "); got != "create write sync rename sync" {
			t.Errorf("the steps of %s are %s", name, got)
		}
	}
}

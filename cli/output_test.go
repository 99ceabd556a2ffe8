package cli

import (
	"bytes"
	"testing"
)

func TestWhatIsRecordedIsSaidOnceForEachThing(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	o := &output{Streams: Streams{Out: &stdout, Err: &stderr}}
	for _, what := range []string{"--credential", "--disks", "--credential"} {
		o.records(what)
	}
	want := "unitd records --credential; it has no effect here\nunitd records --disks; it has no effect here\n"
	if stderr.String() != want || stdout.Len() > 0 {
		t.Errorf("stderr %q, stdout %q; want %q on stderr alone", stderr.String(), stdout.String(), want)
	}
}

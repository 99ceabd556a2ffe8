package lab

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/juju/errors"
)

// TimeFile stands, in the variable that has a world's time, before the path of a
// file that has it: as WriteTime writes it.
const TimeFile = "@"

// WriteTime writes a world's time for those who are in it beside its script. host
// is when that was on the host's clock, which it goes by from then on; zero: it
// stands still.
func WriteTime(path string, now, host time.Time) error {
	text := now.Format(time.RFC3339Nano) + "\n"
	if !host.IsZero() {
		text += host.Format(time.RFC3339Nano) + "\n"
	}
	next := filepath.Join(filepath.Dir(path), filepath.Base(path)+"-next")
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		return errors.Annotate(err, "cannot write the world's time")
	}
	return errors.Annotate(os.Rename(next, path), "cannot write the world's time")
}

// ReadTime is the time in such a file, by the host's clock at host.
func ReadTime(path string, host time.Time) (time.Time, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return time.Time{}, errors.Annotate(err, "cannot read the world's time")
	}
	var times []time.Time
	for _, line := range strings.Fields(string(b)) {
		t, err := time.Parse(time.RFC3339Nano, line)
		if err != nil {
			return time.Time{}, errors.NewNotValid(nil, path+" has no time")
		}
		times = append(times, t)
	}
	switch len(times) {
	case 1:
		return times[0], nil
	case 2:
		return times[0].Add(host.Sub(times[1])), nil
	}
	return time.Time{}, errors.NewNotValid(nil, path+" has no time")
}

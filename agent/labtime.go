package agent

import (
	"os"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/script/lab"
)

// NowVariable has the time of a test world: a command that finds it takes it
// for the time, and starts no agent by itself.
const NowVariable = "UNITD_NOW"

// LabTime is the time of the test world that this command is in; false if it
// isn't in one.
func LabTime() (time.Time, bool, error) {
	text := os.Getenv(NowVariable)
	if text == "" {
		return time.Time{}, false, nil
	}
	if file, ok := strings.CutPrefix(text, lab.TimeFile); ok {
		now, err := lab.ReadTime(file, time.Now())
		return now, err == nil, errors.Annotate(err, NowVariable)
	}
	now, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return now, false, Wrongf("%s: %q is not a time like 2026-01-01T00:00:00Z", NowVariable, text)
	}
	return now, true, nil
}

// PlainArchives says whether this command is in a test world for which archives of charms
// needn't be compressed.
func PlainArchives() bool { return os.Getenv(lab.PlainVariable) != "" }

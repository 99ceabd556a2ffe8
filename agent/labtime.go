package agent

import (
	"os"
	"time"
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
	now, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return now, false, Wrongf("%s: %q is not a time like 2026-01-01T00:00:00Z", NowVariable, text)
	}
	return now, true, nil
}

package agent

import (
	"strings"
	"testing"
)

// TestOnlyAnAgentThatACommandHasBegunIsReplaced: another one has options that nobody knows.
func TestOnlyAnAgentThatACommandHasBegunIsReplaced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, env string
		want      bool
	}{
		{"by a command", "HOME=/root UNITD_READY_FD=3 UNITD_BACKGROUND=yes", true},
		{"by a command of a service's shell", "INVOCATION_ID=1 UNITD_READY_FD=3 UNITD_BACKGROUND=yes", true},
		{"by a command, and it was upgraded", "INVOCATION_ID=1 UNITD_BACKGROUND=yes", true},
		{"by a command of an earlier program", "UNITD_READY_FD=3 HOME=/root", true},
		{"by systemd", "INVOCATION_ID=1 HOME=/root", false},
		{"by a person, or another service manager", "HOME=/root NOT_UNITD_BACKGROUND=yes", false},
	} {
		if got := begunInBackground([]byte(strings.ReplaceAll(c.env, " ", "\x00") + "\x00")); got != c.want {
			t.Errorf("one that was begun %s: %v", c.name, got)
		}
	}
}

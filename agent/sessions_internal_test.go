package agent

import (
	"testing"

	"github.com/unitd/unitd/sessions"
)

// TestWhatNobodyMayAskForInASession: nothing in a request leads to another model, or to
// anything but the verb and the target that it says.
func TestWhatNobodyMayAskForInASession(t *testing.T) {
	t.Parallel()
	good := []sessions.Request{
		{Program: "unitd", Verb: "ssh", Target: "app/0"},
		{Program: "juju", Verb: "ssh", Target: "ubuntu@12", Flags: []string{"--container=web", "--pty=false"}, Words: []string{"-n", "--", "--model", "x"}},
		{Program: "unitd", Verb: "debug-hooks", Target: "an-app/10", Flags: []string{"--once=true"}, Words: []string{"install", "*"}},
		{Program: "unitd", Verb: "debug-code", Target: "app/0", Flags: []string{"--at=hook"}},
	}
	bad := []sessions.Request{
		{},
		{Program: "unitd", Verb: "exec", Target: "app/0"},
		{Program: "sh", Verb: "ssh", Target: "app/0"},
		{Program: "unitd", Verb: "ssh", Target: "app/leader"},
		{Program: "unitd", Verb: "ssh", Target: "host.example"},
		{Program: "unitd", Verb: "ssh", Target: "-oProxyCommand=x@1"},
		{Program: "unitd", Verb: "ssh", Target: "--model"},
		{Program: "unitd", Verb: "ssh", Target: "app/0\n"},
		{Program: "unitd", Verb: "ssh", Target: "app/0", Flags: []string{"--container"}, Words: []string{"--model", "other", "victim/0"}},
		{Program: "unitd", Verb: "ssh", Target: "app/0", Flags: []string{"--model=other"}},
		{Program: "unitd", Verb: "ssh", Target: "app/0", Flags: []string{"-m=other"}},
		{Program: "unitd", Verb: "ssh", Target: "app/0", Flags: []string{"--store=etcd://x"}},
		{Program: "unitd", Verb: "ssh", Target: "app/0", Flags: []string{"app/1"}},
		{Program: "unitd", Verb: "debug-hooks", Target: "app/0", Words: []string{"--model", "other"}},
		{Program: "unitd", Verb: "debug-code", Target: "app/0", Flags: []string{"--debugpy=true"}},
	}
	var s sessionCommands
	for _, r := range good {
		if err := s.check(r); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
	for _, r := range bad {
		if err := s.check(r); err == nil {
			t.Errorf("%+v is done", r)
		}
	}
}

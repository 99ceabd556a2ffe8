package state_test

import (
	"testing"
	"time"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func (w *world) constraints(text string) model.Constraints {
	w.Helper()
	c, err := model.ParseConstraints(text)
	w.ok(err)
	return c
}

// Source: docs/spec/juju-clients.md §6.2, §6.3.
func TestConstraintsHoldForWhatIsAddedLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(mysql, 1)
	w.ok(w.SetConstraints(w.ctx, w.constraints("arch=arm64 mem=4G")))
	w.ok(w.SetConstraintsOf(w.ctx, "mysql", w.constraints("mem=8G cores=2")))
	if _, err := w.AddUnits(w.ctx, "mysql", 1); err != nil {
		t.Fatal(err)
	}
	w.ok(w.SetConstraintsOf(w.ctx, "mysql", w.constraints("arch=")))
	if _, err := w.AddUnits(w.ctx, "mysql", 1); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ arch, machine string }{
		{"", ""},
		{"arm64", "arch=arm64 cores=2 mem=8192M"},
		{"", "arch= mem=4096M"},
	} {
		u, err := w.Unit(w.ctx, model.NewUnitName("mysql", i))
		w.ok(err)
		m, err := w.Machine(w.ctx, u.Machine)
		w.ok(err)
		if u.Arch != want.arch || m.Constraints != want.machine {
			t.Errorf("unit %d is for arch %q on a machine with %q, want %q, %q", i, u.Arch, m.Constraints, want.arch, want.machine)
		}
	}
	own, err := w.ConstraintsOf(w.ctx, "mysql")
	w.ok(err)
	of, err := w.Constraints(w.ctx)
	w.ok(err)
	if own.String() != "arch=" || of.String() != "arch=arm64 mem=4096M" {
		t.Errorf("the application has %q, the model %q", own, of)
	}
	doc, _, err := w.AddMachineOf(w.ctx, state.MachineArgs{Provider: state.ManualProvider, Valid: time.Hour,
		Constraints: w.constraints("mem=1G"), Base: model.Base{Name: "ubuntu", Channel: "22.04"}, Disks: []string{"ebs,1,8G"}})
	w.ok(err)
	if doc.Constraints != "arch=arm64 mem=1024M" {
		t.Errorf("the machine has %q", doc.Constraints)
	}
	s, err := w.Status(w.ctx)
	w.ok(err)
	if last := s.Machines[len(s.Machines)-1]; last.ID != doc.ID || last.Base.String() != "ubuntu@22.04" {
		t.Errorf("it is shown on %v", last.Base)
	}
	w.deploy(logging, 0)
	w.fails(w.SetConstraintsOf(w.ctx, "logging", w.constraints("mem=1G")),
		`constraints do not apply to "logging": it is a subordinate application, whose units are where those of others are`)
	w.fails(w.SetConstraintsOf(w.ctx, "nope", model.Constraints{}), `application "nope" not found`)
}

// Source: docs/spec/juju-clients.md §5.1.
func TestSSHKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const (
		ed   = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f me@laptop"
		edFP = "0f:a2:0a:d7:38:3e:65:45:08:6b:63:84:1c:ff:dc:ba"
		own  = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB8eHRwbGhkYFxYVFBMSERAPDg0MCwoJCAcGBQQDAgEA juju-client-key"
		bare = `from="10.0.0.1" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB8eHRwbGhkYFxYVFBMSERAPDg0MCwoJCAcGBQQDAgEA`
	)
	texts := func(wrong []error, err error) (out []string) {
		w.ok(err)
		for _, e := range wrong {
			if e == nil {
				out = append(out, "")
			} else {
				out = append(out, e.Error())
			}
		}
		return out
	}
	equal := func(got []string, want ...string) {
		t.Helper()
		for i := range want {
			if len(got) != len(want) || got[i] != want[i] {
				t.Errorf("got %q, want %q", got, want)
				return
			}
		}
	}
	equal(texts(w.AddSSHKeys(w.ctx, []string{ed, ed, "ssh-rsa x", own, bare})),
		"", "duplicate ssh key: "+ed, "invalid ssh key: ssh-rsa x", "may not add key with comment juju-client-key: "+own, "")
	keys, err := w.SSHKeys(w.ctx)
	w.ok(err)
	if len(keys) != 2 || keys[0].String() != edFP+" (me@laptop)" || keys[1].Text != bare || keys[1].Comment != "" {
		t.Errorf("there are %v", keys)
	}
	equal(texts(w.RemoveSSHKeys(w.ctx, []string{"juju-system-key", "me@laptop", edFP, bare, ""})),
		"may not delete internal key: juju-system-key", "", "key not found: "+edFP, "", "key not found: ")
	if keys, err = w.SSHKeys(w.ctx); err != nil || len(keys) > 0 {
		t.Errorf("there are %v, %v", keys, err)
	}
}

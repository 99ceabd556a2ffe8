package agent

import (
	"context"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/machine"
)

// UpgradeTime bounds how long an agent waits for hooks that it can't hand over, before it
// goes on as it was.
const UpgradeTime = 10 * time.Minute

// startTime bounds how long an agent may take to be ready that has taken over.
const startTime = 2 * time.Minute

// Upgrade has the agent of the data directory become this program, and waits until it is
// ready: its process stays, and the hooks that run go on. An agent that is older than that is
// ended once no hook runs, and begun anew. timeout bounds the wait for hooks. The error is
// NotFound, if no agent runs.
// Source: docs/upgrades.md.
func (h *Host) Upgrade(timeout time.Duration) error {
	dir, err := DataDir()
	if err != nil {
		return errors.Trace(err)
	}
	pid, err := Running()
	if err != nil {
		return errors.Trace(err)
	}
	if pid == 0 {
		return errors.NewNotFound(nil, "no agent is running, so there is none to upgrade: the next one is this program")
	}
	program, err := StableSelf(dir)
	if err != nil {
		return errors.Trace(err)
	}
	ctx, cancel := context.WithTimeout(h.ctx, timeout)
	defer cancel()
	err = machine.AskToUpgrade(ctx, dir, program)
	switch {
	case errors.Is(err, machine.ErrNoUpgrade):
		return errors.Errorf("the agent (process %d) is too old to hand over to this program: end it with \"unitd shutdown\", or restart its service, at a moment at which no hook runs", pid)
	case errors.Is(err, machine.ErrSilent):
		return errors.Errorf("the agent (process %d) goes on as it was: hooks that can't be handed over still run after %s", pid, timeout)
	case err != nil:
		return err
	}
	if err := h.waitReady(dir, pid); err != nil {
		return err
	}
	h.Note("upgraded the agent (process %d) to %s", pid, Version())
	return nil
}

// waitReady waits until the agent of that process has taken over, as this program.
func (h *Host) waitReady(dir string, pid int) error {
	ctx, cancel := context.WithTimeout(h.ctx, startTime)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		if isThisProgram(pid) {
			if _, err := machine.AskTakenOver(ctx, dir); err == nil {
				return nil
			}
		}
		if now, err := Running(); err == nil && now != pid {
			return errors.New("the agent has ended as it was upgraded; its log says why, and what it was doing goes on with the next agent, as after a crash")
		}
		select {
		case <-ctx.Done():
			return errors.Errorf("the agent (process %d) was upgraded, and isn't ready after %s; its log says why", pid, startTime)
		case <-look.C:
		}
	}
}

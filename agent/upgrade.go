package agent

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
)

// UpgradeTime bounds how long an agent waits for hooks that it can't hand over, before it
// goes on as it was.
const UpgradeTime = 10 * time.Minute

// startTime bounds how long an agent may take to be ready that has taken over.
const startTime = 2 * time.Minute

// Upgrade has the agent of the data directory become this program, and waits until it is
// ready: its process stays, and the hooks that run go on. An agent that is older than that, or
// hands over in another form than this program knows, is ended once no hook runs, and begun anew. timeout bounds the wait for hooks. The error is
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
		return h.replace(ctx, dir, pid)
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

// replace has an agent that can't hand over be ended, once no hook runs, and begins another
// one. One that no command has begun is left to who has: a service manager, or a person, with
// options that another one wouldn't have.
func (h *Host) replace(ctx context.Context, dir string, pid int) error {
	if !inBackground(pid) {
		return errors.Errorf("the agent (process %d) can't hand over to this program, and wasn't begun in the background by a command: restart it as it was begun, or its service, at a moment at which no hook runs", pid)
	}
	look := time.NewTicker(replaceEvery)
	defer look.Stop()
	for {
		runs, err := h.running()
		if err != nil {
			return err
		}
		if runs == "" {
			break
		}
		select {
		case <-ctx.Done():
			return errors.Errorf("the agent (process %d) goes on as it was: it can't hand over to this program, and %s still runs a hook", pid, runs)
		case <-look.C:
		}
	}
	h.Note("the agent (process %d) can't hand over to this program: it is ended, and another one begun", pid)
	if err := h.Shutdown(ShutdownTime); err != nil {
		return err
	}
	return h.startAgent(dir)
}

// inBackground says whether a command has begun the process of an agent, or nobody can tell.
func inBackground(pid int) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err != nil || begunInBackground(env)
}

// begunInBackground is inBackground by the environment that a process has begun with, as the
// kernel shows it. Agents of earlier programs have only the file to tell that they are ready.
func begunInBackground(env []byte) bool {
	env = append([]byte{0}, env...)
	return bytes.Contains(env, []byte("\x00"+backgroundVariable+"=")) || bytes.Contains(env, []byte("\x00"+readyVariable+"="))
}

// replaceEvery is how often replace looks whether hooks run.
const replaceEvery = 200 * time.Millisecond

// running is a unit that runs a hook, or a task, as the agent says; empty: there is none.
// A hook that begins just then is ended with the agent, and run again by the next.
func (h *Host) running() (model.UnitName, error) {
	c, err := h.Open()
	if err != nil {
		return "", err
	}
	infos, err := c.Models(h.ctx)
	if err != nil {
		return "", errors.Trace(err)
	}
	for _, info := range infos {
		s, err := h.See(c.Open(info))
		if errors.Is(err, errors.NotFound) {
			continue
		}
		if err != nil {
			return "", errors.Trace(err)
		}
		for _, app := range s.Applications {
			for _, u := range app.Units {
				if u.Agent.Status == model.StatusExecuting {
					return u.Name, nil
				}
			}
		}
	}
	return "", nil
}

// waitReady waits until the agent of that process has taken over, as this program.
func (h *Host) waitReady(dir string, pid int) error {
	ctx, cancel := context.WithTimeout(h.ctx, startTime)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		if isThisProgram(pid) {
			if machine.AskTakenOver(ctx, dir) == nil {
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

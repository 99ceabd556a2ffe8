//go:build !linux

package agent

import (
	"context"

	"github.com/unitd/unitd/machine"
)

// upgrade is machine.Config.Upgrade: here an agent can't become another program.
func upgrade(*Lock, []string, func(), func() func()) func(context.Context, machine.HandOver, string) error {
	return nil
}

// takeHandover is what was handed over to this process: nothing.
func takeHandover() (*machine.Handover, *Lock, error) { return nil, nil, nil }

// TakesOver is what this program tells an agent that asks what it can take over: its own form.
func TakesOver(context.Context) string { return machine.HandoverForm() }

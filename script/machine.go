package script

import (
	"fmt"
	"net/netip"
	"syscall"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/script/lab"
)

// machineCommands are what happens to the machine that the agent runs on.
func machineCommands() []Cmd {
	return []Cmd{
		{Name: "reboot", Args: "[UNIT]", Summary: "reboot the machine: the agent ends in good order, and another one starts on another boot; with an isolated unit, the machine of that unit alone", run: (*call).reboot},
		{Name: "address", Args: "ADDRESS", Summary: "give the machine another IP address, which the agent sees when it looks again, 20 seconds later at most", run: (*call).address},
	}
}

// box is the machine of a world. The zero value is one that was not rebooted,
// with the host's address.
type box struct {
	boot    int
	address string
}

// env is what an agent that starts on it is given.
func (b box) env() []string {
	return []string{fmt.Sprintf("%s=boot-%d", lab.BootVariable, b.boot), lab.AddressVariable + "=" + b.address}
}

func (c *call) reboot() error {
	if len(c.args) == 1 {
		return c.rebootUnit()
	}
	if err := c.none(); err != nil {
		return err
	}
	c.stop(syscall.SIGTERM)
	if err := machine.NewCells(c.dir, "").Halt(); err != nil {
		return err
	}
	c.box.boot++
	return c.start()
}

// rebooted starts an agent on another boot, if this one has ended because a
// charm wants the machine rebooted. It is let go as the one before was.
func (w *world) rebooted(a *agent) (*agent, error) {
	if a.cmd.ProcessState.ExitCode() != lab.Rebooting {
		return nil, nil
	}
	if err := machine.NewCells(w.dir, "").Halt(); err != nil {
		return nil, err
	}
	w.box.boot++
	if err := w.start(); err != nil {
		return nil, err
	}
	hold := false
	if _, err := w.tell(lab.Request{Hold: &hold}); err != nil {
		return nil, err
	}
	return w.running()
}

func (c *call) address() error {
	if len(c.args) != 1 {
		return c.usagef("expected an IP address")
	}
	if _, err := netip.ParseAddr(c.args[0]); err != nil {
		return c.usagef("%q is not an IP address", c.args[0])
	}
	c.box.address = c.args[0]
	if _, err := c.running(); err != nil {
		return nil // the next agent has it from the beginning
	}
	_, err := c.tell(lab.Request{Address: c.args[0]})
	return err
}

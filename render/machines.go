package render

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// MachineRows are the machines for people. Source: docs/spec/cli-juju.md §2b.
func MachineRows(machines []state.MachineView) [][]Cell {
	if len(machines) == 0 {
		return nil
	}
	rows := [][]Cell{Heads("Machine", "State", "Address", "Inst id", "Base", "AZ", "Message")}
	for _, m := range machines {
		status := MachineStatus(m)
		address, text := "", ""
		if len(m.Addresses) > 0 {
			address, text = m.Addresses[0], hostMessage(m)
		}
		text = cmp.Or(status.Message, text)
		if m.Life != model.Alive {
			text = strings.TrimSpace("(" + m.Life.String() + ") " + text)
		}
		rows = append(rows, []Cell{
			{Text: m.ID}, StatusCell(status.Status), {Text: address, Colour: cyan}, {Text: instanceID(m)}, {Text: m.Base.String()}, {},
			message(text),
		})
	}
	return rows
}

// hostMessage is "Running", or what systemd says of the machine if that isn't all.
func hostMessage(m state.MachineView) string {
	if m.System == nil || m.System.State == "" || m.System.State == model.SystemRunning {
		return "Running"
	}
	return m.System.String()
}

// instanceID is what people know the machine's host by; empty: it has none yet.
func instanceID(m state.MachineView) string {
	if m.Instance == "" && len(m.Addresses) > 0 {
		return "local-" + m.ID // of an agent from before it was told
	}
	return m.Instance
}

// Host is what local machines are made of.
type Host struct {
	Arch  string // as Go names it
	Cores int
	Mem   uint64 // in MiB; 0: nobody knows
}

// hardware is the host as status tells of it, in the words of constraints. Source:
// docs/spec/juju-clients.md §6.3.
func (h Host) hardware() string {
	text := fmt.Sprintf("arch=%s cores=%d", model.ArchitectureOf(h.Arch), h.Cores)
	if h.Mem > 0 {
		text += fmt.Sprintf(" mem=%dM", h.Mem)
	}
	return text
}

// machineTree is a machine as "status --format json" shows it.
func machineTree(m state.MachineView, on Host, utc bool) Tree {
	host := model.Status{Status: "running", Message: hostMessage(m), Since: m.Started}
	if m.Started.IsZero() && m.Provider == state.ManualProvider {
		host = MachineStatus(m)
	}
	agent := statusInfo(MachineStatus(m), utc, true)
	if m.Life != model.Alive {
		agent["life"] = m.Life.String()
	}
	t := Tree{
		"juju-status":    agent,
		"machine-status": statusInfo(host, utc, false),
		"instance-id":    cmp.Or(instanceID(m), "pending"),
		"hostname":       m.Hostname,
	}
	if m.Provider == state.LocalProvider {
		t["hardware"] = on.hardware()
	}
	if m.Constraints != "" {
		t["constraints"] = m.Constraints
	}
	if m.Base.Name != "" {
		t["base"] = baseTree(m.Base)
	}
	if len(m.Addresses) > 0 {
		t["dns-name"], t["ip-addresses"] = m.Addresses[0], m.Addresses
	}
	return t
}

// MachinesTree is what machines and show-machine show as JSON; utc: with times in UTC.
func MachinesTree(s *state.FullStatus, on Host, utc bool) Tree {
	machines := Tree{}
	for _, m := range s.Machines {
		t := machineTree(m, on, utc)
		units := map[string]string{}
		for _, app := range s.Applications {
			for _, u := range app.Units {
				if u.Machine == m.ID {
					units[string(u.Name)] = u.Agent.Status
				}
			}
		}
		if len(units) > 0 {
			t["units"] = units
		}
		t["life"] = m.Life.String()
		machines[m.ID] = t
	}
	return Tree{"model": s.Model.Name, "machines": machines}
}

func baseTree(b model.Base) Tree { return Tree{"name": b.Name, "channel": b.Channel} }

// MachineStatus is that of the machine's agent.
func MachineStatus(m state.MachineView) model.Status {
	switch {
	case m.Started.IsZero() && m.Join != nil:
		until := "its token is valid until " + m.Join.Expires.UTC().Format("2006-01-02 15:04:05Z")
		if m.Expired {
			until = fmt.Sprintf(`its token has expired: "unitd remove-machine %s", and add one anew`, m.ID)
		}
		return model.Status{Status: "pending", Message: "waiting for an agent to join; " + until, Since: m.Created}
	case m.Started.IsZero():
		return model.Status{Status: "pending", Since: m.Created}
	case !m.Present:
		return model.Status{Status: "down", Message: "agent is not communicating with the server", Since: m.Started}
	}
	return model.Status{Status: "started", Since: m.Started}
}

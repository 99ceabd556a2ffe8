package main

import (
	"cmp"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// machineRows are the machines for people. Source: docs/spec/cli-juju.md §2b.
func machineRows(machines []state.MachineView) [][]cell {
	if len(machines) == 0 {
		return nil
	}
	rows := [][]cell{heads("Machine", "State", "Address", "Inst id", "Base", "AZ", "Message")}
	for _, m := range machines {
		status := machineStatus(m)
		address, text := "", ""
		if len(m.Addresses) > 0 {
			address, text = m.Addresses[0], "Running"
		}
		text = cmp.Or(status.Message, text)
		if m.Life != model.Alive {
			text = strings.TrimSpace("(" + m.Life.String() + ") " + text)
		}
		rows = append(rows, []cell{
			{text: m.ID}, statusCell(status.Status), {text: address, colour: cyan}, {text: instanceID(m)}, {text: m.Base.String()}, {},
			message(text),
		})
	}
	return rows
}

// instanceID is what people know the machine's host by; empty: it has none yet.
func instanceID(m state.MachineView) string {
	if m.Instance == "" && len(m.Addresses) > 0 {
		return "local-" + m.ID // of an agent from before it was told
	}
	return m.Instance
}

// machineTree is a machine as "status --format json" shows it.
func machineTree(m state.MachineView, utc bool) tree {
	host := model.Status{Status: "running", Message: "Running", Since: m.Started}
	if m.Started.IsZero() && m.Provider == state.ManualProvider {
		host = machineStatus(m)
	}
	agent := statusInfo(machineStatus(m), utc, true)
	if m.Life != model.Alive {
		agent["life"] = m.Life.String()
	}
	t := tree{
		"juju-status":    agent,
		"machine-status": statusInfo(host, utc, false),
		"instance-id":    cmp.Or(instanceID(m), "pending"),
		"hostname":       m.Hostname,
	}
	if m.Provider == state.LocalProvider {
		t["hardware"] = "arch=" + runtime.GOARCH + " cores=" + strconv.Itoa(runtime.NumCPU())
	}
	if m.Base.Name != "" {
		t["base"] = baseTree(m.Base)
	}
	if len(m.Addresses) > 0 {
		t["dns-name"], t["ip-addresses"] = m.Addresses[0], m.Addresses
	}
	return t
}

func baseTree(b model.Base) tree { return tree{"name": b.Name, "channel": b.Channel} }

// machineStatus is that of the machine's agent.
func machineStatus(m state.MachineView) model.Status {
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

package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// tabular is the status for people. Source: docs/spec/cli-juju.md §2b.
func tabular(s *state.FullStatus, colours, relations, utc bool) string {
	t := &table{colours: colours}
	t.block([][]cell{
		heads("Model", "Controller", "Cloud/Region", "Version", "SLA", "Timestamp"),
		{{text: s.Model.Name}, {text: controllerName}, {text: cloudOf(s.Model.Type)}, {text: hooks.Version}, {text: "unsupported"}, {text: clockTime(s.Timestamp, utc)}},
	})
	machines, containers := byKind(s.Applications)
	t.block(applicationRows(machines))
	t.block(publishedRows(s))
	t.block(unitRows(machines))
	t.block(machineRows(s.Machines))
	t.block(containerApplicationRows(containers))
	t.block(containerUnitRows(containers))
	if relations {
		t.block(relationRows(s))
	}
	t.block(statusStorageRows(s.Storage))
	t.failures(s)
	return t.b.String()
}

// statusColour is the colour of a status word.
func statusColour(word string) colour {
	switch word {
	case "active", "running", "idle", "started", "executing", "attached", "attaching", "joined":
		return green
	case "allocating", "lost", "maintenance", "pending", "rebooting", "stopped", "unknown", "detaching", "detached":
		return yellow
	case "blocked", "down", "error", "failed", "terminated", "broken":
		return red
	}
	return plain
}

func statusCell(word string) cell { return cell{text: word, colour: statusColour(word)} }

// message is a status message cut to what a line can take.
func message(s string) cell { return cell{text: clip(s, 120), colour: grey} }

// clip cuts text that a charm has set to so many characters in one line.
func clip(s string, most int) string {
	r := []rune(strings.ReplaceAll(harmless(s), "\t", " "))
	if len(r) > most {
		return string(r[:most-3]) + "..."
	}
	return string(r)
}

func applicationRows(apps []state.ApplicationView) [][]cell {
	if len(apps) == 0 {
		return nil
	}
	head := heads("App", "Version", "Status", "Scale", "Charm", "Channel", "Rev", "Exposed", "Message")
	head[3].right, head[6].right = true, true
	addressed := slices.ContainsFunc(apps, func(a state.ApplicationView) bool { return a.Service.Address != "" })
	if addressed {
		head = slices.Insert(head, addressColumn, cell{text: "Address"})
	}
	rows := [][]cell{head}
	for _, app := range apps {
		version, _, _ := strings.Cut(app.Version, "\n")
		row := []cell{
			{text: app.Name}, {text: clip(version, 15)}, statusCell(app.Status.Status), scale(app), {text: app.CharmDoc.Charm.Name}, {},
			{text: fmt.Sprint(app.CharmDoc.Revision), right: true}, exposedCell(app), message(withLife(app)),
		}
		if addressed {
			row = slices.Insert(row, addressColumn, cell{text: app.Service.Address, colour: cyan})
		}
		rows = append(rows, row)
	}
	return rows
}

func exposedCell(app state.ApplicationView) cell {
	if app.Exposed {
		return cell{text: "yes", colour: green}
	}
	return cell{text: "no"}
}

// addressColumn is where the address of an application stands, if any has one.
const addressColumn = 7

// publishedRows are the ports by which applications are reached, and what keeps
// those that should be from being there.
func publishedRows(s *state.FullStatus) [][]cell {
	var rows [][]cell
	for _, app := range s.Applications {
		listed := map[string]bool{}
		for _, p := range app.Published {
			listed[p.Listen()] = true
			rows = append(rows, []cell{{text: p.Listen(), colour: cyan}, {text: app.Name}, {text: fmt.Sprint(p.Port), right: true}, problem(app, p.Listen())})
		}
		for _, port := range slices.Sorted(maps.Keys(app.Service.Problems)) {
			if !listed[port] {
				rows = append(rows, []cell{{text: app.Service.Address, colour: cyan}, {text: app.Name}, {text: port, right: true}, problem(app, port)})
			}
		}
	}
	if len(rows) == 0 {
		return nil
	}
	head := heads("Published", "App", "Port", "Message")
	head[2].right = true
	return slices.Insert(rows, 0, head)
}

func problem(app state.ApplicationView, port string) cell {
	why := app.Service.Problems[port]
	if why != "" {
		why = "not there: " + why
	}
	return cell{text: clip(why, 120), colour: brightRed}
}

// withLife is the message of an application, after its life if it is on its way
// out, as a unit's message is after the hook that runs.
func withLife(app state.ApplicationView) string {
	if app.Life == model.Alive {
		return app.Status.Message
	}
	return strings.TrimSpace("(" + app.Life.String() + ") " + app.Status.Message)
}

// scale is how many units there are, or how many of them run if not all do.
func scale(app state.ApplicationView) cell {
	running := 0
	for _, u := range app.Units {
		up := slices.Contains([]string{model.StatusExecuting, model.StatusIdle, "running"}, u.Agent.Status)
		if up && u.Workload.Status != model.StatusTerminated {
			running++
		}
	}
	want := len(app.Units)
	if app.Sidecar {
		want = app.Scale // some may have still to come, or to go
	}
	if running == want {
		return cell{text: fmt.Sprint(running), right: true}
	}
	return cell{text: fmt.Sprintf("%d/%d", running, want), colour: yellow, right: true}
}

func unitRows(apps []state.ApplicationView) [][]cell {
	units := map[model.UnitName]state.UnitView{}
	for _, app := range apps {
		for _, u := range app.Units {
			units[u.Name] = u
		}
	}
	if len(units) == 0 {
		return nil
	}
	rows := [][]cell{heads("Unit", "Workload", "Agent", "Machine", "Public address", "Ports", "Message")}
	for _, name := range slices.SortedFunc(maps.Keys(units), model.CompareUnits) {
		u := units[name]
		if _, shown := units[u.Principal]; u.Principal != "" && shown {
			continue
		}
		rows = append(rows, unitRow(u, ""))
		for _, sub := range slices.SortedFunc(slices.Values(u.Subordinates), model.CompareUnits) {
			if su, ok := units[sub]; ok {
				rows = append(rows, unitRow(su, "  "))
			}
		}
	}
	return rows
}

func unitRow(u state.UnitView, indent string) []cell {
	machine := u.Machine
	if indent != "" || u.Pod {
		machine = ""
	}
	return []cell{
		unitCell(u, indent), statusCell(u.Workload.Status), statusCell(u.Agent.Status), {text: machine},
		{text: u.Address, colour: cyan}, portCell(u.Ports), unitMessage(u),
	}
}

func unitCell(u state.UnitView, indent string) cell {
	if u.Leader {
		return cell{text: indent + string(u.Name) + "*"}
	}
	return cell{text: indent + string(u.Name)}
}

// unitMessage is the message of a unit, after the hook that runs and before what
// holds its agent up, of which failures has the whole.
func unitMessage(u state.UnitView) cell {
	text, held := u.Workload.Message, heldUp(u)
	if hook, ok := strings.CutPrefix(u.Agent.Message, "running "); ok && u.Agent.Status == model.StatusExecuting {
		hook, _, _ = strings.Cut(hook, "; ")
		hook, _, _ = strings.Cut(hook, " hook")
		text = strings.TrimSpace("(" + hook + ") " + text)
	}
	if held != "" && text != "" {
		held = clip(text, 60) + "; " + held
	}
	return message(cmp.Or(held, text))
}

// heldUp says what an agent can't do; empty: nothing.
func heldUp(u state.UnitView) string {
	switch u.Agent.Status {
	case model.StatusFailed:
		return u.Agent.Message
	case model.StatusExecuting:
		_, held, _ := strings.Cut(u.Agent.Message, "; ") // see machine.Word.See
		return held
	}
	return ""
}

// portCell groups ports by protocol: "80,443,8000-8010/tcp 53/udp icmp".
func portCell(p model.Ports) cell {
	byProtocol := map[string][]string{}
	for _, r := range p.All() {
		number, _, _ := strings.Cut(r.String(), "/")
		byProtocol[r.Protocol] = append(byProtocol[r.Protocol], number)
	}
	var spans []span
	group := func(numbers, protocol string) {
		if len(spans) > 0 {
			spans = append(spans, span{text: " "})
		}
		spans = append(spans, span{numbers, ports}, span{text: protocol})
	}
	for _, proto := range []string{"tcp", "udp"} {
		if list := byProtocol[proto]; len(list) > 0 {
			group(strings.Join(list, ","), "/"+proto)
		}
	}
	if len(byProtocol["icmp"]) > 0 {
		group("icmp", "")
	}
	return cell{more: spans}
}

// portList is the text of portCell.
func portList(p model.Ports) string { return portCell(p).render(false) }

func relationRows(s *state.FullStatus) [][]cell {
	if len(s.Relations) == 0 {
		return nil
	}
	rows := [][]cell{heads("Integration provider", "Requirer", "Interface", "Type", "Message")}
	for _, r := range s.Relations {
		provider, requirer := r.Endpoints[0], r.Endpoints[len(r.Endpoints)-1]
		if provider.Role == model.Requirer {
			provider, requirer = requirer, provider
		}
		kind := "regular"
		switch {
		case r.IsPeer():
			kind = "peer"
		case r.Scope() == model.Container:
			kind = "subordinate"
		}
		rows = append(rows, []cell{endpointCell(provider), endpointCell(requirer), {text: provider.Interface}, {text: kind}, relationMessage(r)})
	}
	return rows
}

// relationMessage says what is the matter with a relation; nothing, mostly.
func relationMessage(r state.RelationDoc) cell {
	word := "suspended"
	switch {
	case r.Life != model.Alive:
		return message("dying")
	case !r.Suspended:
		return message("")
	case r.Units > 0:
		word = "suspending" // there are units that have still to leave it
	}
	c := cell{text: word, colour: yellow}
	if r.SuspendedMessage != "" {
		c.more = []span{{" - " + clip(r.SuspendedMessage, 120), grey}}
	}
	return c
}

func endpointCell(e model.Endpoint) cell {
	return cell{text: e.Application, more: []span{{":" + e.Name, magenta}}}
}

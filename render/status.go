package render

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

// StatusTable is the status for people, in lines of a width (see Table). Source:
// docs/spec/cli-juju.md §2b.
func StatusTable(s *state.FullStatus, colours, relations, utc bool, width int) string {
	t := &Table{Colours: colours, Width: width}
	t.Block([][]Cell{
		Heads("Model", "Controller", "Cloud/Region", "Version", "SLA", "Timestamp"),
		{{Text: s.Model.Name}, {Text: controllerOf(s)}, {Text: CloudRegion(s.Model.Type)}, {Text: hooks.Version}, {Text: "unsupported"}, {Text: clockTime(s.Timestamp, utc)}},
	})
	t.Block(saasRows(s.SAAS))
	machines, containers := byKind(s.Applications)
	t.Block(applicationRows(machines))
	t.Block(publishedRows(s))
	t.Block(unitRows(machines))
	t.Block(MachineRows(s.Machines))
	t.Block(offerRows(s.Offers))
	t.Block(containerApplicationRows(containers))
	t.Block(containerUnitRows(containers))
	if relations {
		t.Block(relationRows(s))
	}
	t.Block(statusStorageRows(s.Storage))
	t.failures(s)
	return t.String()
}

// statusColour is the colour of a status word.
func statusColour(word string) Colour {
	switch word {
	case "active", "running", "idle", "started", "executing", "attached", "attaching", "joined":
		return Green
	case "allocating", "lost", "maintenance", "pending", "rebooting", "stopped", "unknown", "detaching", "detached":
		return Yellow
	case "blocked", "down", "error", "failed", "terminated", "broken":
		return Red
	}
	return plain
}

// StatusCell is a status word in its colour.
func StatusCell(word string) Cell { return Cell{Text: word, Colour: statusColour(word)} }

// message is a status message cut to what a line can take.
func message(s string) Cell { return Cell{Text: clip(s, 120), Colour: Grey} }

// clip cuts text that a charm has set to so many characters in one line.
func clip(s string, most int) string {
	r := []rune(strings.ReplaceAll(Harmless(s), "\t", " "))
	if len(r) > most {
		return string(r[:most-3]) + "..."
	}
	return string(r)
}

func applicationRows(apps []state.ApplicationView) [][]Cell {
	if len(apps) == 0 {
		return nil
	}
	head := Heads("App", "Version", "Status", "Scale", "Charm", "Channel", "Rev", "Exposed", "Message")
	head[3].Right, head[6].Right = true, true
	addressed := slices.ContainsFunc(apps, func(a state.ApplicationView) bool { return a.Service.Address != "" })
	if addressed {
		head = slices.Insert(head, addressColumn, Cell{Text: "Address"})
	}
	rows := [][]Cell{head}
	for _, app := range apps {
		version, _, _ := strings.Cut(app.Version, "\n")
		row := []Cell{
			{Text: app.Name}, {Text: clip(version, 15)}, StatusCell(app.Status.Status), scale(app), {Text: app.CharmDoc.Charm.Name}, {Text: channelOf(app)},
			{Text: fmt.Sprint(app.CharmDoc.Revision), Right: true}, exposedCell(app), message(withLife(app)),
		}
		if addressed {
			row = slices.Insert(row, addressColumn, Cell{Text: app.Service.Address, Colour: cyan})
		}
		rows = append(rows, row)
	}
	return rows
}

func exposedCell(app state.ApplicationView) Cell {
	if app.Exposed {
		return Cell{Text: "yes", Colour: Green}
	}
	return Cell{Text: "no"}
}

// addressColumn is where the address of an application stands, if any has one.
const addressColumn = 7

// publishedRows are the ports by which applications are reached, and what keeps
// those that should be from being there.
func publishedRows(s *state.FullStatus) [][]Cell {
	var rows [][]Cell
	for _, app := range s.Applications {
		listed := map[string]bool{}
		for _, p := range app.Published {
			listed[p.Listen()] = true
			rows = append(rows, []Cell{{Text: p.Listen(), Colour: cyan}, {Text: app.Name}, {Text: fmt.Sprint(p.Port), Right: true}, problem(app, p.Listen())})
		}
		for _, port := range slices.Sorted(maps.Keys(app.Service.Problems)) {
			if !listed[port] {
				rows = append(rows, []Cell{{Text: app.Service.Address, Colour: cyan}, {Text: app.Name}, {Text: port, Right: true}, problem(app, port)})
			}
		}
	}
	if len(rows) == 0 {
		return nil
	}
	head := Heads("Published", "App", "Port", "Message")
	head[2].Right = true
	return slices.Insert(rows, 0, head)
}

func problem(app state.ApplicationView, port string) Cell {
	why := app.Service.Problems[port]
	if why != "" {
		why = "not there: " + why
	}
	return Cell{Text: clip(why, 120), Colour: BrightRed}
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
func scale(app state.ApplicationView) Cell {
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
		return Cell{Text: fmt.Sprint(running), Right: true}
	}
	return Cell{Text: fmt.Sprintf("%d/%d", running, want), Colour: Yellow, Right: true}
}

func unitRows(apps []state.ApplicationView) [][]Cell {
	units := map[model.UnitName]state.UnitView{}
	for _, app := range apps {
		for _, u := range app.Units {
			units[u.Name] = u
		}
	}
	if len(units) == 0 {
		return nil
	}
	rows := [][]Cell{Heads("Unit", "Workload", "Agent", "Machine", "Public address", "Ports", "Message")}
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

func unitRow(u state.UnitView, indent string) []Cell {
	machine := u.Machine
	if indent != "" || u.Pod {
		machine = ""
	}
	return []Cell{
		unitCell(u, indent), StatusCell(u.Workload.Status), StatusCell(u.Agent.Status), {Text: machine},
		{Text: u.Address, Colour: cyan}, portCell(u.Ports), unitMessage(u),
	}
}

func unitCell(u state.UnitView, indent string) Cell {
	if u.Leader {
		return Cell{Text: indent + string(u.Name) + "*"}
	}
	return Cell{Text: indent + string(u.Name)}
}

// unitMessage is the message of a unit, after the hook that runs and before what
// holds its agent up, of which failures has the whole.
func unitMessage(u state.UnitView) Cell {
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
func portCell(p model.Ports) Cell {
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
	return Cell{more: spans}
}

// PortList is the text of portCell.
func PortList(p model.Ports) string { return portCell(p).render(false) }

func relationRows(s *state.FullStatus) [][]Cell {
	if len(s.Relations) == 0 {
		return nil
	}
	rows := [][]Cell{Heads("Integration provider", "Requirer", "Interface", "Type", "Message")}
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
		rows = append(rows, []Cell{endpointCell(provider), endpointCell(requirer), {Text: provider.Interface}, {Text: kind}, relationMessage(r, s.Suspending[r.ID])})
	}
	return rows
}

// relationMessage says what is the matter with a relation; nothing, mostly.
// suspending: there are units that have still to leave it.
func relationMessage(r state.RelationDoc, suspending bool) Cell {
	word := "suspended"
	switch {
	case r.Life != model.Alive:
		return message("dying")
	case !r.Suspended:
		return message("")
	case suspending:
		word = "suspending"
	}
	c := Cell{Text: word, Colour: Yellow}
	if r.SuspendedMessage != "" {
		c.more = []span{{" - " + clip(r.SuspendedMessage, 120), Grey}}
	}
	return c
}

func endpointCell(e model.Endpoint) Cell {
	return Cell{Text: e.Application, more: []span{{":" + e.Name, magenta}}}
}

package check

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// State is what an endpoint is in, as far as a scenario's lines say.
type State string

// The states of an endpoint.
const (
	// None: there was never a relation.
	None State = "none"
	// Silent: the other side has published nothing.
	Silent State = "silent"
	// Told: it has published what the charm can use, or some of it.
	Told State = "told"
	// Deserted: the other side has no unit any more.
	Deserted State = "deserted"
	// Gone: there was a relation, and it was removed.
	Gone State = "gone"
)

// States are all states of an endpoint, in the order of a relation's life.
func States() []State { return []State{None, Silent, Told, Deserted, Gone} }

// standing is where endpoints are in a scenario: by their names, those with no relation so far
// left out.
type standing map[string]side

// side is the other side of an endpoint.
type side struct {
	state State
	units int  // those that the stub has
	app   bool // something is in its application's databag
}

func (s standing) state(endpoint string) State {
	if side, ok := s[endpoint]; ok && side.state != "" {
		return side.state
	}
	return None
}

// after changes where endpoints are by a line's words; stubs are the endpoints that stubs play the
// other side of.
func (s standing) after(words []string, stubs map[string]string) {
	if len(words) < 2 {
		return
	}
	stub := words[len(words)-1]
	switch words[0] {
	case "stub", "stub-join", "stub-leave":
		stub = words[1]
	case "stub-set":
		stub = words[1]
		if stub == "--app" {
			stub = words[2]
		}
	}
	stub, _, _ = strings.Cut(stub, "/")
	endpoint, ok := stubs[stub]
	if !ok {
		return
	}
	at := s[endpoint]
	related := at.state != "" && at.state != Gone
	switch words[0] {
	case "stub":
		at.units = 1
	case "stub-join":
		if at.units += joining(words); at.state == Deserted {
			at.state = Silent
			if at.app {
				at.state = Told
			}
		}
	case "stub-leave":
		if at.units--; at.units == 0 && related {
			at.state = Deserted
		}
	case "integrate":
		at.state, at.app = Silent, false
		if at.units == 0 {
			at.state = Deserted
		}
	case "stub-set":
		at.app = at.app || words[1] == "--app"
		if at.state == Silent {
			at.state = Told
		}
	case "remove-relation", "remove-application":
		if related {
			at.state = Gone
		}
	default:
		return
	}
	s[endpoint] = at
}

// joining is how many units "stub-join APPLICATION [NUMBER]" adds.
func joining(words []string) int {
	if len(words) < 3 {
		return 1
	}
	n, _ := strconv.Atoi(words[2]) // who writes it writes a number
	return n
}

// vector says the states of all endpoints in a word.
func (s standing) vector() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s)) {
		b.WriteString(name + "=" + string(s.state(name)) + " ")
	}
	return b.String()
}

// Meeting is a hook that has run while an endpoint was in a state.
type Meeting struct {
	Hook     string `json:"hook"`
	Endpoint string `json:"endpoint"`
	State    State  `json:"state"`
}

// Meetings says how many of a charm's hooks have run in how many states of its endpoints.
type Meetings struct {
	// Met is how many of the Wanted meetings there were: of each hook that has run at all with
	// each state of each endpoint that it isn't about.
	Met    int `json:"met"`
	Wanted int `json:"wanted"`
	// Ran are those that there were, by the states of each endpoint, and Missing are the others.
	Ran     []Ran     `json:"ran,omitempty"`
	Missing []Meeting `json:"missing,omitempty"`
}

// Ran is which hooks have run while an endpoint was in a state, of those that count there.
type Ran struct {
	Endpoint string   `json:"endpoint"`
	State    State    `json:"state"`
	Hooks    []string `json:"hooks,omitempty"`
}

// meetings compares what was met with what can be met by hooks that have run.
func (w World) meetings(hooks []string, met map[Meeting]bool) (m Meetings) {
	for _, e := range w.Endpoints {
		for _, state := range States() {
			if state == Told && len(e.Keys) == 0 {
				continue // there is nothing to tell
			}
			ran := Ran{Endpoint: e.Name, State: state}
			for _, hook := range hooks {
				if w.about(hook) == e.Name || hook == "secret-changed" && w.onlySecrets(e) {
					continue
				}
				m.Wanted++
				if at := (Meeting{hook, e.Name, state}); met[at] {
					m.Met++
					ran.Hooks = append(ran.Hooks, hook)
				} else {
					m.Missing = append(m.Missing, at)
				}
			}
			m.Ran = append(m.Ran, ran)
		}
	}
	return m
}

// onlySecrets says whether no other endpoint has secrets, so that one of them changes only while this
// endpoint has told of it.
func (w World) onlySecrets(e Endpoint) bool {
	for _, o := range w.Endpoints {
		if has := slices.ContainsFunc(o.Keys, func(k Key) bool { return k.Kind == Secret }); has != (o.Name == e.Name) {
			return false
		}
	}
	return true
}

// about is the endpoint that a hook is about; empty: none.
func (w World) about(hook string) string {
	for _, e := range w.Endpoints {
		if strings.HasPrefix(hook, e.Name+"-relation-") {
			return e.Name
		}
	}
	return ""
}

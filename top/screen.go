package top

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/page"
)

// Screen is what is seen; it is bubbletea's model.
type Screen struct {
	// Now is the time. Colours says whether there are any.
	Now     func() time.Time
	Colours bool

	width, height int
	model         page.Model
	units         map[string]page.Unit
	runs          map[string]page.Run // by the keys of their parts
	lines         page.Lines

	chosen string // the unit
	first  int    // the number of the unit in the first line
	below  pane
	alone  bool // below there is what concerns the chosen unit alone
	filter string
	typing bool // the filter
	span   time.Duration
	ended  error
}

// pane is what the lower half of the screen shows.
type pane int

const (
	runsPane pane = iota
	logPane
	timePane
	panes
)

// Ended is the message that nothing comes any more.
type Ended struct{ Err error }

// tick is the message that time has passed.
type tick struct{}

// maxLines is how many lines of the log are kept.
const maxLines = 1000

// New is an empty screen.
func New(now func() time.Time, colours bool) Screen {
	return Screen{Now: now, Colours: colours, width: 80, height: 24, units: map[string]page.Unit{}, runs: map[string]page.Run{}, span: time.Minute}
}

// Init is part of tea.Model.
func (s Screen) Init() tea.Cmd { return again() }

// again has the screen drawn anew in a second: what runs gets longer.
func again() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return tick{} }) }

// Update is part of tea.Model: what becomes of the screen by a message.
func (s Screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height = msg.Width, msg.Height
	case tick:
		return s, again()
	case Ended:
		s.ended = msg.Err
		return s, tea.Quit
	case page.Event:
		s = s.take(msg)
	case tea.KeyPressMsg:
		if s.typing {
			return s.typed(msg), nil
		}
		return s.pressed(msg.String())
	}
	return s.within(), nil
}

// Err is why nothing comes any more; nil where a person has ended it.
func (s Screen) Err() error { return s.ended }

// take takes an event. A part that can't be read is one of a later version: it is left out.
func (s Screen) take(e page.Event) Screen {
	if e.First {
		s.units, s.runs, s.lines = map[string]page.Unit{}, map[string]page.Run{}, nil
	}
	for _, key := range e.Gone {
		delete(s.units, key)
		delete(s.runs, key)
	}
	for key, part := range e.Set {
		switch kind, _, _ := strings.Cut(key, "/"); kind {
		case "model":
			_ = json.Unmarshal(part, &s.model)
		case "unit":
			var u page.Unit
			if json.Unmarshal(part, &u) == nil {
				s.units[key] = u
			}
		case "run":
			var r page.Run
			if json.Unmarshal(part, &r) == nil {
				s.runs[key] = r
			}
		}
	}
	s.lines = slices.Clone(s.lines)
	for _, line := range e.Lines {
		s.lines = s.lines.Put(line, maxLines)
	}
	s.lines = s.lines[max(0, len(s.lines)-maxLines):]
	return s
}

// pressed is what a key does.
func (s Screen) pressed(key string) (tea.Model, tea.Cmd) {
	switch key {
	case "q", "ctrl+c", "esc":
		return s, tea.Quit
	case "ctrl+z":
		return s, tea.Suspend
	case "up", "k":
		s = s.move(-1)
	case "down", "j":
		s = s.move(1)
	case "pgup":
		s = s.move(-s.room())
	case "pgdown":
		s = s.move(s.room())
	case "home", "g":
		s = s.move(-len(s.units))
	case "end", "G":
		s = s.move(len(s.units))
	case "tab", "right":
		s.below = (s.below + 1) % panes
	case "shift+tab", "left":
		s.below = (s.below + panes - 1) % panes
	case "f", "enter":
		s.alone = !s.alone
	case "+":
		s.span = max(s.span/2, time.Second)
	case "-":
		s.span = min(s.span*2, 24*time.Hour)
	case "/":
		s.typing = true
	}
	return s.within(), nil
}

// typed is what a key does while the filter is typed.
func (s Screen) typed(key tea.KeyPressMsg) tea.Model {
	switch key.String() {
	case "enter":
		s.typing = false
	case "esc", "ctrl+c":
		s.typing, s.filter = false, ""
	case "backspace":
		if r := []rune(s.filter); len(r) > 0 {
			s.filter = string(r[:len(r)-1])
		}
	default:
		s.filter += key.Text
	}
	return s.within()
}

// shown are the units that the filter lets through, in their order: each word of it has to
// be in the unit's name or its statuses.
func (s Screen) shown() []page.Unit {
	words := strings.Fields(strings.ToLower(s.filter))
	var out []page.Unit
	for _, u := range s.units {
		text := strings.ToLower(strings.Join([]string{u.Name, u.Workload.Status, u.Workload.Message, u.Agent.Status, u.Agent.Message}, " "))
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			out = append(out, u)
		}
	}
	slices.SortFunc(out, func(a, b page.Unit) int { return model.CompareUnits(model.UnitName(a.Name), model.UnitName(b.Name)) })
	return out
}

// move chooses a unit so many lines further down.
func (s Screen) move(by int) Screen {
	all := s.shown()
	if len(all) == 0 {
		return s
	}
	i := slices.IndexFunc(all, func(u page.Unit) bool { return u.Name == s.chosen })
	s.chosen = all[min(max(i+by, 0), len(all)-1)].Name
	return s
}

// within chooses a unit that is there, and has it on the screen.
func (s Screen) within() Screen {
	all := s.shown()
	i := slices.IndexFunc(all, func(u page.Unit) bool { return u.Name == s.chosen })
	if i < 0 && len(all) > 0 {
		i = 0
		s.chosen = all[0].Name
	}
	room := s.room()
	s.first = min(max(s.first, i-room+1), max(i, 0))
	s.first = min(s.first, max(0, len(all)-room))
	return s
}

// room is how many lines there are for units, and rest for what is below.
func (s Screen) room() int { return max(1, (s.height-4)/2) }

func (s Screen) rest() int { return max(1, s.height-4-s.room()) }

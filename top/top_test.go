package top_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/page"
	"github.com/unitd/unitd/top"
)

var now = time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC)

func screen() top.Screen { return top.New(func() time.Time { return now }, false) }

// after is what becomes of a screen by messages, and whether it ends.
func after(s top.Screen, messages ...tea.Msg) (top.Screen, bool) {
	ended := false
	for _, m := range messages {
		next, cmd := s.Update(m)
		s = next.(top.Screen)
		if cmd != nil {
			_, ended = cmd().(tea.QuitMsg)
		}
	}
	return s, ended
}

func keys(s top.Screen, names ...string) top.Screen {
	special := map[string]rune{"up": tea.KeyUp, "down": tea.KeyDown, "tab": tea.KeyTab, "enter": tea.KeyEnter, "esc": tea.KeyEscape, "backspace": tea.KeyBackspace, "end": tea.KeyEnd, "home": tea.KeyHome, "pgdown": tea.KeyPgDown}
	for _, name := range names {
		k := tea.KeyPressMsg{Code: special[name]}
		if k.Code == 0 {
			k = tea.KeyPressMsg{Code: rune(name[0]), Text: name}
		}
		s, _ = after(s, k)
	}
	return s
}

// event has so many units, one of which runs a hook and one of which has failed.
func event(t *testing.T, units int) page.Event {
	t.Helper()
	p := page.Parts{"model": page.Model{Name: "staging"}}
	for i := range units {
		u := page.Unit{Name: fmt.Sprint("shop/", i), Workload: page.Status{Status: "active", Message: "ready"}, Agent: page.Status{Status: "idle"}}
		switch i {
		case 0:
			u.Leader = true
			u.Agent = page.Status{Status: "executing", Message: "running config-changed hook", Since: now.Add(-5 * time.Second).UnixMilli()}
		case 1:
			u.Workload = page.Status{Status: "error", Message: "hook failed: \"start\"\x1b[2J\nmore, and so much more that it doesn't fit into the line any more at all"}
		}
		p["unit/"+u.Name] = u
	}
	p["run/shop/0/0"] = page.Run{Unit: "shop/0", Run: 1, Hook: "install", Outcome: "committed", Started: float64(now.Add(-30 * time.Second).UnixMilli()), Took: 2000, Cause: "unit deployed"}
	p["run/shop/1/0"] = page.Run{Unit: "shop/1", Run: 1, Hook: "start", Outcome: "failed", Started: float64(now.Add(-20 * time.Second).UnixMilli()), Took: 4, Message: "exit status 3: no luck"}
	e, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return page.Event{Delta: page.Delta{Set: e}, First: true, Lines: page.Lines{
		{Entry: debuglog.Entry{Time: now, Entity: "unit-shop-0", Level: "INFO", Module: "unit.shop/0.juju-log", Message: "hello"}},
		{Entry: debuglog.Entry{Time: now, Entity: "unit-shop-1", Level: "ERROR", Module: "unit.shop/1.juju-log", Message: "no\nluck"}},
	}}
}

// fits says whether a text is a screen of that size, and nothing in it would do something
// to the terminal.
func fits(t *testing.T, text string, width, height int) {
	t.Helper()
	lines := strings.Split(text, "\n")
	if len(lines) != height {
		t.Errorf("it has %d lines, want %d:\n%s", len(lines), height, text)
	}
	for _, line := range lines {
		if ansi.StringWidth(line) > width || strings.Contains(line, "\x1b[2J") {
			t.Errorf("%q is %d wide, want %d at most", line, ansi.StringWidth(line), width)
		}
	}
}

func wants(t *testing.T, s top.Screen, texts ...string) {
	t.Helper()
	text := s.Text()
	for _, want := range texts {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q:\n%s", want, text)
		}
	}
}

func TestTheScreenShowsUnitsAndWhatHasRun(t *testing.T) {
	t.Parallel()
	s, _ := after(screen(), event(t, 3))
	wants(t, s, "staging  ✖ 1 error  ● 2 active  1 in a hook", "09:00:00", ">shop/0* ", "● active", "◆ config-changed", "✖ error", "[Hook runs]", "install", "unit deployed", "failed", "exit status 3")
	fits(t, s.Text(), 80, 24)
	for _, size := range [][2]int{{80, 24}, {200, 60}, {40, 10}, {20, 6}, {1, 1}} {
		resized, _ := after(s, tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		fits(t, resized.Text(), size[0], max(size[1], 6))
		coloured := resized
		coloured.Colours = true
		fits(t, coloured.Text(), size[0], max(size[1], 6))
	}
}

func TestKeysChooseWhatIsShown(t *testing.T) {
	t.Parallel()
	s, _ := after(screen(), event(t, 3))
	s = keys(s, "down")
	wants(t, s, ">shop/1 ")
	s = keys(s, "f")
	wants(t, s, "of shop/1", "exit status 3")
	if strings.Contains(s.Text(), "unit deployed") {
		t.Errorf("another unit's runs are shown:\n%s", s.Text())
	}
	s = keys(s, "tab")
	wants(t, s, "[Log]", "ERROR   unit.shop/1.juju-log no luck")
	if strings.Contains(s.Text(), "hello") {
		t.Errorf("another unit's log is shown:\n%s", s.Text())
	}
	s = keys(s, "f")
	wants(t, s, "hello")
	s = keys(s, "tab")
	wants(t, s, "[Timeline]", "1m0s ago", "█", "▒", "x")
	s = keys(s, "+")
	wants(t, s, "30s ago")
	s = keys(s, "-", "-")
	wants(t, s, "2m0s ago")
	s = keys(s, "tab")
	wants(t, s, "[Hook runs]")
	for _, key := range []string{"q", "esc"} {
		var k tea.Msg = tea.KeyPressMsg{Code: 'q', Text: "q"}
		if key == "esc" {
			k = tea.KeyPressMsg{Code: tea.KeyEscape}
		}
		if _, ended := after(s, k); !ended {
			t.Errorf("%s doesn't end it", key)
		}
	}
}

func TestTheFilterLeavesWhatItsWordsMatch(t *testing.T) {
	t.Parallel()
	s, _ := after(screen(), event(t, 12))
	s = keys(s, "/", "e", "r", "r", "o", "r", "x", "backspace")
	wants(t, s, "Filter: error▏", ">shop/1 ")
	s = keys(s, "enter")
	wants(t, s, "(filter: error)")
	if strings.Contains(s.Text(), "shop/2") {
		t.Errorf("the filter lets all through:\n%s", s.Text())
	}
	s = keys(s, "/", "q") // is typed, and ends nothing
	wants(t, s, "Filter: errorq▏")
	s = keys(s, "esc")
	wants(t, s, "shop/2", ">shop/1 ")
}

func TestManyUnitsAreScrolledThrough(t *testing.T) {
	t.Parallel()
	s, _ := after(screen(), event(t, 100))
	s = keys(s, "end")
	wants(t, s, ">shop/99 ", "shop/90 ")
	fits(t, s.Text(), 80, 24)
	s = keys(s, "up", "up")
	wants(t, s, ">shop/97 ", "shop/99 ")
	s = keys(s, "home", "pgdown")
	wants(t, s, ">shop/10 ")

	// Units that go, and parts that a later version has.
	s, _ = after(s, page.Event{Delta: page.Delta{Gone: []string{"unit/shop/10", "run/shop/0/0"}, Set: page.Encoded{"unit/new": json.RawMessage(`{"name":7}`), "later/x": json.RawMessage(`1`)}}})
	wants(t, s, ">shop/0* ")
	if strings.Contains(s.Text(), "unit deployed") {
		t.Errorf("what is gone is shown:\n%s", s.Text())
	}
	s, _ = after(s, page.Event{First: true})
	fits(t, s.Text(), 80, 24)
}

func TestTheScreenEndsWhenNothingComesAnyMore(t *testing.T) {
	t.Parallel()
	s, ended := after(screen(), top.Ended{Err: errors.New("the store is gone")})
	if !ended || s.Err() == nil || s.Err().Error() != "the store is gone" {
		t.Errorf("it ends: %v, by %v", ended, s.Err())
	}
}

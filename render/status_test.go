package render

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// shop is the example of docs/spec/cli-juju.md §2b.
func shop() *state.FullStatus {
	noble := model.Base{Name: "ubuntu", Channel: "24.04"}
	at := time.Date(2026, 3, 3, 9, 5, 0, 0, time.UTC)
	app := func(name, version string, s model.Status, units ...state.UnitView) state.ApplicationView {
		return state.ApplicationView{
			ApplicationDoc: state.ApplicationDoc{Name: name, Charm: "local:" + name + "-0"},
			CharmDoc:       state.CharmDoc{Charm: model.Charm{Name: name}}, Version: version, Status: s, Units: units,
		}
	}
	unit := func(doc state.UnitDoc, workload, agent model.Status, leader bool) state.UnitView {
		return state.UnitView{UnitDoc: doc, Workload: workload, Agent: agent, Leader: leader, Address: "10.9.8.7"}
	}
	open := model.Status{Status: "active", Message: "open"}
	noKey := model.Status{Status: "blocked", Message: "no key"}
	idle := model.Status{Status: "idle"}
	waiting := unit(state.UnitDoc{Name: "ledger/1", Machine: "1"},
		model.Status{Status: "waiting", Message: "waiting for machine"}, model.Status{Status: "allocating"}, false)
	waiting.Address = ""
	busy := unit(state.UnitDoc{Name: "shop/0", Machine: "0", Subordinates: []model.UnitName{"watcher/0"}},
		open, model.Status{Status: "executing", Message: "running config-changed hook"}, true)
	busy.Ports = model.Ports{"": {{From: 8080, To: 8080, Protocol: "tcp"}}}
	return &state.FullStatus{
		Model: state.ModelInfo{Name: "shopmodel"}, Timestamp: at,
		Applications: []state.ApplicationView{
			app("ledger", "", noKey, unit(state.UnitDoc{Name: "ledger/0", Machine: "0"}, noKey, idle, true), waiting),
			app("shop", "2.1", open, busy),
			app("watcher", "", model.Status{Status: "unknown"},
				unit(state.UnitDoc{Name: "watcher/0", Machine: "0", Principal: "shop/0"}, model.Status{Status: "unknown"}, idle, true)),
		},
		Machines: []state.MachineView{
			{MachineDoc: state.MachineDoc{ID: "0", Addresses: []string{"10.9.8.7"}, BaseName: "ubuntu", BaseChannel: "24.04", Started: at}, Base: noble, Present: true},
			{MachineDoc: state.MachineDoc{ID: "1", BaseName: "ubuntu", BaseChannel: "24.04"}, Base: noble},
		},
	}
}

func TestTabularStatusIsThatOfTheContract(t *testing.T) {
	t.Parallel()
	want := strings.ReplaceAll(`Model      Controller  Cloud/Region  Version  SLA          Timestamp
shopmodel  unitd       local/host    3.6.12   unsupported  09:05:00Z

App      Version  Status   Scale  Charm    Channel  Rev  Exposed  Message
ledger            blocked    1/2  ledger              0  no       no key
shop     2.1      active       1  shop                0  no       open
watcher           unknown      1  watcher             0  no       .

Unit          Workload  Agent       Machine  Public address  Ports     Message
ledger/0*     blocked   idle        0        10.9.8.7                  no key
ledger/1      waiting   allocating  1                                  waiting for machine
shop/0*       active    executing   0        10.9.8.7        8080/tcp  (config-changed) open
  watcher/0*  unknown   idle                 10.9.8.7                  .

Machine  State    Address   Inst id  Base          AZ  Message
0        started  10.9.8.7  local-0  ubuntu@24.04      Running
1        pending                     ubuntu@24.04      .
`, ".\n", "\n")
	if got := StatusTable(shop(), false, false, true, 0); got != want {
		t.Errorf("have\n%s\nwant\n%s", got, want)
	}
}

func TestColoursLeaveTheTextAsItIs(t *testing.T) {
	t.Parallel()
	s := shop()
	s.Relations = []state.RelationDoc{{Endpoints: []model.Endpoint{
		{Application: "shop", Name: "store", Role: model.Requirer, Interface: "kv"},
		{Application: "ledger", Name: "db", Role: model.Provider, Interface: "kv"},
	}}}
	s.Applications[1].Units[0].Ports[""] = append(s.Applications[1].Units[0].Ports[""], model.PortRange{From: 53, To: 53, Protocol: "udp"})
	coloured := StatusTable(s, true, true, true, 0)
	for _, part := range []string{
		"\x1b[31mblocked\x1b[0m", "\x1b[32mactive\x1b[0m", "\x1b[33m1/2\x1b[0m", "\x1b[36m10.9.8.7\x1b[0m", "\x1b[37mno key\x1b[0m",
		"  \x1b[95m8080\x1b[0m/tcp \x1b[95m53\x1b[0m/udp  ",
		"\nledger\x1b[35m:db\x1b[0m             shop\x1b[35m:store\x1b[0m  kv         regular  ",
	} {
		if !strings.Contains(coloured, part) {
			t.Errorf("no %q in\n%s", part, coloured)
		}
	}
	var plainText strings.Builder
	for rest := coloured; rest != ""; {
		before, after, found := strings.Cut(rest, "\x1b[")
		plainText.WriteString(before)
		if found {
			_, after, _ = strings.Cut(after, "m")
		}
		rest = after
	}
	if want := StatusTable(s, false, true, true, 0); plainText.String() != want {
		t.Errorf("without its colours the table is\n%s\nwant\n%s", plainText.String(), want)
	}
}

func TestCellsAreCutToWhatALineTakes(t *testing.T) {
	t.Parallel()
	s := shop()
	s.Applications[1].Version = strings.Repeat("ä", 16) + "\nsecond line"
	s.Applications[1].Status.Message = "two\nlines\x1b[2J " + strings.Repeat("é", 120)
	text := StatusTable(s, false, false, true, 0)
	if !utf8.ValidString(text) {
		t.Errorf("a character was cut in two:\n%q", text)
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("a charm's escape sequence reaches the terminal:\n%q", text)
	}
	for _, want := range []string{"shop     " + strings.Repeat("ä", 12) + "...  active", "two lines [2J " + strings.Repeat("é", 103) + "...\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestSelectorsLeaveWhatTheyName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		selectors []string
		want      string
	}{
		{"none leave everything", nil, "ledger/0 ledger/1 shop/0 watcher/0 machines 0 1"},
		{"an application has its units and their machines", []string{"ledger"}, "ledger/0 ledger/1 machines 0 1"},
		{"a unit is alone", []string{"ledger/0"}, "ledger/0 machines 0"},
		{"several are put together, a principal with its subordinates", []string{"ledger/1", "shop"}, "ledger/1 shop/0 watcher/0 machines 0 1"},
		{"what isn't there leaves nothing", []string{"nope", "shop/7"}, "machines"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := shop()
			SelectStatus(s, test.selectors)
			var got []string
			for _, app := range s.Applications {
				for _, u := range app.Units {
					got = append(got, string(u.Name))
				}
			}
			got = append(got, "machines")
			for _, m := range s.Machines {
				got = append(got, m.ID)
			}
			if text := strings.Join(got, " "); text != test.want {
				t.Errorf("have %s, want %s", text, test.want)
			}
		})
	}
}

func TestPortsAreGroupedByProtocol(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, ports, want string
	}{
		{"none", "", ""},
		{"ranges and single ports", "8000-8010/tcp 80/tcp 443/tcp", "80,443,8000-8010/tcp"},
		{"protocols in their order", "icmp 53/udp 80/tcp", "80/tcp 53/udp icmp"},
		{"once, whatever the endpoint", "80/tcp 80/tcp", "80/tcp"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := model.Ports{}
			for i, text := range strings.Fields(test.ports) {
				r, err := model.ParsePortRange(text)
				if err != nil {
					t.Fatal(err)
				}
				endpoint := strings.Repeat("x", i)
				p[endpoint] = append(p[endpoint], r)
			}
			if got := PortList(p); got != test.want {
				t.Errorf("have %q, want %q", got, test.want)
			}
		})
	}
}

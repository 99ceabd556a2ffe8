package render

import (
	"testing"
)

func risks() []string { return []string{"stable", "candidate", "beta", "edge"} }

// TestInfoIsTextWithATable is the example of the contract.
// Source: docs/spec/juju-clients.md §12.9.
func TestInfoIsTextWithATable(t *testing.T) {
	t.Parallel()
	noble := HubBase{"ubuntu", "24.04"}
	info := HubInfo{
		Type: "charm", ID: "chARm1", Name: "ledger", Description: "Keeps the accounts of a harbour.", Publisher: "Quay Works", Summary: "Keeps accounts",
		Supports: []HubBase{{"ubuntu", "22.04"}, noble}, StoreURL: "https://example.org/ledger", Tags: []string{"databases"},
		Charm: &HubCharm{
			Config:    map[string]any{"Options": map[string]any{"port": map[string]any{"type": "int"}}},
			Relations: map[string]map[string]string{"provides": {"db": "kv"}},
		},
		Tracks: []string{"latest", "14"},
		Channels: map[string]map[string][]HubRelease{
			"latest": {
				"stable": {{Version: "2.1", Revision: 41, ReleasedAt: "2026-02-01T10:00:00+00:00", Size: 51_311, Architectures: []string{"amd64", "arm64"}, Bases: []HubBase{noble}}},
				"edge":   {{Version: "2.2", Revision: 42, ReleasedAt: "2026-02-20T10:00:00+00:00", Size: 52_000_000, Architectures: []string{"amd64"}, Bases: []HubBase{noble}}},
			},
			"14": {"beta": {{Version: "1", Revision: 7}}},
		},
	}
	const begin = `name: ledger
publisher: Quay Works
summary: Keeps accounts
description: Keeps the accounts of a harbour.
store-url: https://example.org/ledger
charm-id: chARm1
supports: ubuntu@22.04, ubuntu@24.04
tags: databases
subordinate: false
relations:
  provides:
    db: kv
`
	got, err := InfoText(info, risks(), true, false, false)
	want := begin + `channels: |
  latest/stable:     2.1  2026-02-01  (41)  52kB  amd64, arm64  ubuntu@24.04
  latest/candidate:  ↑
  latest/beta:       ↑
  latest/edge:       2.2  2026-02-20  (42)  52MB  amd64         ubuntu@24.04
  14/stable:         –
  14/candidate:      –
  14/beta:           1                (7)   0kB
  14/edge:           ↑
`
	if err != nil || got != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
	bundle := HubInfo{Type: "bundle", ID: "b1", Name: "harbour", Tracks: []string{"latest"}, Channels: map[string]map[string][]HubRelease{"latest": {"stable": {{Version: "7", Revision: 7}}}}}
	got, err = InfoText(bundle, risks()[:2], false, true, false)
	if want := "name: harbour\npublisher: \"\"\nsummary: \"\"\ndescription: \"\"\nbundle-id: b1\nchannels: |\n  latest/stable:     7    (7)  0kB\n  latest/candidate:  ^\n"; err != nil || got != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
}

// TestFoundSummariesAreWrapped, but for their first line nothing is shown.
// Source: docs/spec/juju-clients.md §12.10.
func TestFoundSummariesAreWrapped(t *testing.T) {
	t.Parallel()
	found := []HubFound{
		{Type: "charm", Name: "ledger", Version: "2.1", Publisher: "Quay Works", Summary: "Keeps the accounts of a harbour, and those of its ships\nmore"},
		{Type: "bundle", Name: "harbour", Version: "7", Publisher: "Quay Works", Supports: []HubBase{{"ubuntu", "24.04"}}},
	}
	const want = `Name     Bundle  Version  Publisher   Summary
ledger   -       2.1      Quay Works  Keeps the accounts of a harbour, and
                                      those of its ships
harbour  Y       7        Quay Works  

`
	if got := FindTable(found, "nbvps"); got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	if got, want := FindTable(found[1:], "nS"), "Name     Supports\nharbour  ubuntu@24.04\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for columns, want := range map[string]string{"": "expected at least one column", "nx": "unexpected column type 'x'", "nbvpsaoS": ""} {
		said := ""
		if err := CheckColumns(columns); err != nil {
			said = err.Error()
		}
		if said != want {
			t.Errorf("%q: got %q, want %q", columns, said, want)
		}
	}
}

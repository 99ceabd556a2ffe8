package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// HubRelease is what is in one channel of a hub's charm, for one revision.
type HubRelease struct {
	Track         string    `json:"track" yaml:"track"`
	Risk          string    `json:"risk" yaml:"risk"`
	Version       string    `json:"version" yaml:"version"`
	Revision      int       `json:"revision" yaml:"revision"`
	ReleasedAt    string    `json:"released-at" yaml:"released-at"`
	Size          int64     `json:"size" yaml:"size"`
	Architectures []string  `json:"architectures" yaml:"architectures"`
	Bases         []HubBase `json:"bases" yaml:"bases"`
}

// HubBase is a base as hubs show it.
type HubBase struct {
	Name    string `json:"name" yaml:"name"`
	Channel string `json:"channel" yaml:"channel"`
}

// HubInfo is a charm or bundle of a hub, as info shows it.
// Source: docs/spec/juju-clients.md §12.9.
type HubInfo struct {
	Type        string     `json:"type" yaml:"type"`
	ID          string     `json:"id" yaml:"id"`
	Name        string     `json:"name" yaml:"name"`
	Description string     `json:"description" yaml:"description"`
	Publisher   string     `json:"publisher" yaml:"publisher"`
	Summary     string     `json:"summary" yaml:"summary"`
	Supports    []HubBase  `json:"supports,omitempty" yaml:"supports,omitempty"`
	StoreURL    string     `json:"store-url" yaml:"store-url"`
	Tags        []string   `json:"tags,omitempty" yaml:"tags,omitempty"`
	Charm       *HubCharm  `json:"charm,omitempty" yaml:"charm,omitempty"`
	Bundle      *HubBundle `json:"bundle,omitempty" yaml:"bundle,omitempty"`
	// Channels are by track and risk; the newest release is the first.
	Channels map[string]map[string][]HubRelease `json:"channels" yaml:"channels"`
	// Tracks are in the hub's order.
	Tracks []string `json:"tracks,omitempty" yaml:"tracks,omitempty"`
}

// HubCharm is what info shows of a charm alone.
type HubCharm struct {
	Config      map[string]any               `json:"config,omitempty" yaml:"config,omitempty"`
	Relations   map[string]map[string]string `json:"relations,omitempty" yaml:"relations,omitempty"`
	Subordinate bool                         `json:"subordinate,omitempty" yaml:"subordinate,omitempty"`
	UsedBy      []string                     `json:"used-by,omitempty" yaml:"used-by,omitempty"`
}

// HubBundle is what info shows of a bundle alone.
type HubBundle struct {
	Charms []HubNamed `json:"charms" yaml:"charms"`
}

// HubNamed is a charm by its name.
type HubNamed struct {
	Name string `json:"name" yaml:"name"`
}

// field is a line of text before the channels.
type field struct {
	name  string
	value any
}

// InfoText shows a charm or bundle for people. Risks are all of a track, the least one
// first; unicode says whether the marks of closed ones may be; withConfig whether
// options are shown; withBases whether bases are left out, and each revision listed, as
// they are all the same then.
func InfoText(info HubInfo, risks []string, unicode, withConfig, baseGiven bool) (string, error) {
	fields := []field{{"name", info.Name}, {"publisher", info.Publisher}, {"summary", info.Summary}, {"description", info.Description}}
	if info.Type == "charm" {
		fields = append(fields, field{"store-url", info.StoreURL}, field{"charm-id", info.ID}, field{"supports", basesText(info.Supports)},
			field{"tags", strings.Join(info.Tags, ", ")}, field{"subordinate", info.Charm.Subordinate}, field{"relations", info.Charm.Relations})
	} else {
		fields = append(fields, field{"bundle-id", info.ID}, field{"tags", strings.Join(info.Tags, ", ")})
	}
	fields = append(fields, field{"channels", channelsText(info, risks, unicode, baseGiven)})
	if withConfig && info.Charm != nil {
		fields = append(fields, field{"config", info.Charm.Config})
	}
	doc := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range fields {
		value := &yaml.Node{}
		if err := value.Encode(f.value); err != nil {
			return "", err
		}
		optional := f.name == "tags" || f.name == "supports" || f.name == "relations" || f.name == "channels" || f.name == "config"
		if optional && (value.Value == "" && len(value.Content) == 0) {
			continue
		}
		if f.name == "channels" {
			value.Style = yaml.LiteralStyle
		}
		doc.Content = append(doc.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: f.name}, value)
	}
	var b strings.Builder
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(doc); err != nil {
		return "", err
	}
	return b.String(), nil
}

func basesText(bases []HubBase) string {
	texts := make([]string, len(bases))
	for i, b := range bases {
		texts[i] = b.Name + "@" + b.Channel
	}
	return strings.Join(texts, ", ")
}

// channelsText is the table of channels: of each track all risks.
func channelsText(info HubInfo, risks []string, unicode, baseGiven bool) string {
	none, above := "--", "^"
	if unicode {
		none, above = "–", "↑"
	}
	var rows [][]Cell
	for _, track := range info.Tracks {
		open := false
		for _, risk := range risks {
			releases := info.Channels[track][risk]
			name := Cell{Text: track + "/" + risk + ":"}
			switch {
			case len(releases) > 0:
				open = true
				if !baseGiven {
					releases = releases[:1]
				}
				for _, r := range releases {
					rows = append(rows, releaseRow(name, r))
				}
			case open:
				rows = append(rows, []Cell{name, {Text: above}})
			default:
				rows = append(rows, []Cell{name, {Text: none}})
			}
		}
	}
	if len(rows) == 0 {
		return ""
	}
	t := &Table{}
	t.Block(rows)
	lines := strings.Split(t.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ") // or it could be no block of text in YAML
	}
	return strings.Join(lines, "\n")
}

func releaseRow(name Cell, r HubRelease) []Cell {
	date, _, _ := strings.Cut(r.ReleasedAt, "T")
	return []Cell{
		name, {Text: Harmless(r.Version)}, {Text: date}, {Text: fmt.Sprintf("(%d)", r.Revision)}, {Text: hubSize(r.Size)},
		{Text: strings.Join(r.Architectures, ", ")}, {Text: basesText(r.Bases)},
	}
}

// hubSize is a size in units of a thousand.
func hubSize(n int64) string {
	if n < 1_000_000 {
		return fmt.Sprintf("%dkB", (n+999)/1000)
	}
	return fmt.Sprintf("%dMB", (n+500_000)/1_000_000)
}

// HubFound is a charm or bundle as find shows it.
// Source: docs/spec/juju-clients.md §12.10.
type HubFound struct {
	Type          string    `json:"type" yaml:"type"`
	ID            string    `json:"id" yaml:"id"`
	Name          string    `json:"name" yaml:"name"`
	Publisher     string    `json:"publisher" yaml:"publisher"`
	Summary       string    `json:"summary" yaml:"summary"`
	Version       string    `json:"version" yaml:"version"`
	Architectures []string  `json:"architectures,omitempty" yaml:"architectures,omitempty"`
	OS            []string  `json:"os,omitempty" yaml:"os,omitempty"`
	Supports      []HubBase `json:"supports,omitempty" yaml:"supports,omitempty"`
	StoreURL      string    `json:"store-url" yaml:"store-url"`
}

// findColumns are the columns of find by their letters.
func findColumns() map[rune]func(HubFound) (head, text string) {
	bundle := func(f HubFound) string {
		if f.Type == "bundle" {
			return "Y"
		}
		return "-"
	}
	return map[rune]func(HubFound) (string, string){
		'n': func(f HubFound) (string, string) { return "Name", f.Name },
		'b': func(f HubFound) (string, string) { return "Bundle", bundle(f) },
		'v': func(f HubFound) (string, string) { return "Version", f.Version },
		'p': func(f HubFound) (string, string) { return "Publisher", f.Publisher },
		's': func(f HubFound) (string, string) { return "Summary", f.Summary },
		'a': func(f HubFound) (string, string) { return "Architecture", strings.Join(f.Architectures, ",") },
		'o': func(f HubFound) (string, string) { return "OS", strings.Join(f.OS, ",") },
		'S': func(f HubFound) (string, string) { return "Supports", basesText(f.Supports) },
	}
}

// CheckColumns says what is wrong with the letters of columns.
func CheckColumns(columns string) error {
	if columns == "" {
		return fmt.Errorf("expected at least one column")
	}
	for _, c := range columns {
		if findColumns()[c] == nil {
			return fmt.Errorf("unexpected column type '%c'", c)
		}
	}
	return nil
}

// summaryWidth is after how many characters a summary goes on in the next line.
const summaryWidth = 40

// FindTable shows what was found for people: letters say which columns.
func FindTable(all []HubFound, columns string) string {
	letters := findColumns()
	var heads []string
	for _, c := range columns {
		head, _ := letters[c](HubFound{})
		heads = append(heads, head)
	}
	rows := [][]Cell{Heads(heads...)}
	for _, f := range all {
		var row []Cell
		var more []string
		at := -1
		for i, c := range columns {
			_, text := letters[c](f)
			if c == 's' {
				first, _, _ := strings.Cut(text, "\n")
				lines := append(wrap(Harmless(first), summaryWidth), "")
				text, more, at = lines[0], lines[1:max(1, len(lines)-1)], i
			}
			row = append(row, Cell{Text: Harmless(text)})
		}
		rows = append(rows, row)
		for _, line := range more {
			next := make([]Cell, at+1)
			next[at] = Cell{Text: line}
			rows = append(rows, next)
		}
	}
	t := &Table{}
	t.Block(rows)
	return t.String() + "\n"
}

// HubResource is a resource of a hub's charm.
// Source: docs/spec/juju-clients.md §7.5.
type HubResource struct {
	Name        string `json:"name" yaml:"name"`
	Type        string `json:"type" yaml:"type"`
	Path        string `json:"path" yaml:"path"`
	Description string `json:"description,omitempty" yaml:"description,omitempty"`
	Revision    int    `json:"revision,omitempty" yaml:"revision,omitempty"`
	Fingerprint string `json:"fingerprint" yaml:"fingerprint"`
	Size        int64  `json:"size" yaml:"size"`
	Origin      string `json:"origin" yaml:"origin"`
}

// HubResourcesTable shows resources of a hub's charm for people.
func HubResourcesTable(all []HubResource) string {
	rows := [][]Cell{Heads("Resource", "Revision")}
	for _, r := range all {
		rows = append(rows, []Cell{{Text: r.Name}, {Text: fmt.Sprint(r.Revision)}})
	}
	t := &Table{}
	t.Block(rows)
	return t.String()
}

// SortedTracks are the names of tracks, "latest" first.
func SortedTracks(channels map[string]map[string][]HubRelease) []string {
	tracks := slices.Sorted(maps.Keys(channels))
	if i := slices.Index(tracks, "latest"); i > 0 {
		tracks = slices.Insert(slices.Delete(tracks, i, i+1), 0, "latest")
	}
	return tracks
}

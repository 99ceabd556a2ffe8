package check

import (
	"encoding/json"
	"net/netip"
	"strings"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/pattern"
	"github.com/unitd/unitd/recording"
)

// AddRecording takes from a hook run of the charm what others had published to it: from then on
// stubs publish that. Of several recordings the last one counts. It returns how many keys there
// were. The error is NotValid for a run of another charm.
func (s *Subject) AddRecording(r *recording.Recording) (int, error) {
	if r.Charm != s.Charm.Name {
		return 0, errors.NotValidf("recording of a hook of %s, and not of %s,", r.Charm, s.Charm.Name)
	}
	if s.recorded == nil {
		s.recorded = map[string][]Key{}
	}
	seen := readRecording(r)
	n := 0
	for _, e := range s.stubs() {
		var keys []Key
		for _, bag := range seen.bags {
			if seen.endpoints[bag.relation] == e.Name {
				keys = firstOf(keys, seen.publisher(bag, e).keys(bag.values, bag.where))
			}
		}
		n += len(keys)
		s.recorded[e.Name] = firstOf(keys, s.recorded[e.Name])
	}
	return n, nil
}

// recordedBag is what a hook saw of a databag.
type recordedBag struct {
	relation, remote string
	where            Where
	values           map[string]string
}

// recordedRun is what a hook saw of what others have published.
type recordedRun struct {
	endpoints map[string]string // by the ids of relations
	addresses map[string]string // by units
	content   map[string][]string
	bags      []recordedBag
}

var relationID = pattern.New(`([A-Za-z][\w-]*):(\d+)`)

func readRecording(r *recording.Recording) recordedRun {
	seen := recordedRun{endpoints: map[string]string{}, addresses: map[string]string{}, content: map[string][]string{}}
	note := func(text string) {
		for _, m := range relationID.Regexp().FindAllStringSubmatch(text, -1) {
			seen.endpoints[m[2]] = m[1]
		}
	}
	note(r.Getenv("JUJU_RELATION_ID"))
	for _, c := range r.Calls {
		if c.Code != 0 || len(c.Args) == 0 {
			continue
		}
		switch c.Args[0] {
		case "relation-ids":
			note(string(c.Stdout))
		case "relation-get":
			seen.get(r, c)
		case "secret-get":
			seen.secret(c)
		}
	}
	return seen
}

// toolCall are the flags and the other arguments of a call of a hook tool.
type toolCall struct {
	flags map[string]string
	args  []string
}

// parsed parts the arguments of a call; those of the flags in with have a value.
func parsed(c recording.Call, with ...string) toolCall {
	out := toolCall{flags: map[string]string{}}
	for i := 1; i < len(c.Args); i++ {
		name, isFlag := strings.CutPrefix(c.Args[i], "-")
		if !isFlag || name == "" {
			out.args = append(out.args, c.Args[i])
			continue
		}
		name, value, given := strings.Cut(strings.TrimPrefix(name, "-"), "=")
		for _, w := range with {
			if w == name && !given && i+1 < len(c.Args) {
				i++
				value = c.Args[i]
			}
		}
		out.flags[name] = value
	}
	return out
}

// get notes what relation-get has answered, if that was published by another application.
func (seen *recordedRun) get(r *recording.Recording, c recording.Call) {
	t := parsed(c, "r", "relation", "format", "o", "output")
	id := r.Getenv("JUJU_RELATION_ID")
	for _, name := range []string{"r", "relation"} {
		if v, ok := t.flags[name]; ok {
			id = v
		}
	}
	if m := relationID.FindStringSubmatch(id); m != nil {
		seen.endpoints[m[2]] = m[1]
		id = m[2]
	}
	bag := recordedBag{relation: id, remote: r.Getenv("JUJU_REMOTE_UNIT"), where: UnitBag}
	_, ofApp := t.flags["app"]
	if ofApp {
		bag.where, bag.remote = AppBag, r.Getenv("JUJU_REMOTE_APP")
	}
	key := ""
	if len(t.args) > 0 && t.args[0] != "-" {
		key = t.args[0]
	}
	if len(t.args) > 1 {
		bag.remote = t.args[1]
	}
	app, _, _ := strings.Cut(bag.remote, "/")
	if app == "" || app == r.Unit.Application() {
		return
	}
	bag.values = answered(c.Stdout, key, t.flags["format"])
	if a := bag.values["ingress-address"]; a != "" {
		seen.addresses[bag.remote] = a
	}
	seen.bags = append(seen.bags, bag)
}

// answered are the keys in an answer of relation-get; key: it was asked for one alone.
func answered(out []byte, key, format string) map[string]string {
	values := map[string]string{}
	switch {
	case key == "" && format == "json":
		_ = json.Unmarshal(out, &values) // what isn't so has no keys
	case key == "":
		_ = yaml.Unmarshal(out, &values)
	default:
		var value string
		switch format {
		case "json":
			_ = json.Unmarshal(out, &value)
		case "yaml":
			_ = yaml.Unmarshal(out, &value)
		default:
			value = strings.TrimSuffix(string(out), "\n")
		}
		values[key] = value
	}
	return values
}

// secret notes the keys of a secret's content.
func (seen *recordedRun) secret(c recording.Call) {
	t := parsed(c, "label", "format", "o", "output")
	if len(t.args) != 1 {
		return
	}
	values := answered(c.Stdout, "", t.flags["format"])
	if len(values) > 0 {
		seen.content[idOf(t.args[0])] = sortedOf(values)
	}
}

// publisher is who has published a databag that a hook saw.
func (seen recordedRun) publisher(bag recordedBag, e Endpoint) publisher {
	app, _, isUnit := strings.Cut(bag.remote, "/")
	by := publisher{from: Recorded, address: seen.address(bag), content: seen.content, names: map[string]string{app: e.Stub()}}
	if isUnit {
		by.names[bag.remote] = e.Stub() + "/0"
	}
	return by
}

// address is that of who has published a databag: as Juju has it, or as the charm has published
// it itself, if the hook has read no more. Else it would be an address of the host where the
// recording was made.
func (seen recordedRun) address(bag recordedBag) string {
	if a := seen.addresses[bag.remote]; a != "" {
		return a
	}
	for _, other := range seen.bags {
		if other.remote != bag.remote {
			continue
		}
		for _, name := range sortedOf(other.values) {
			if _, err := netip.ParseAddr(other.values[name]); err == nil && guess(name) == Address {
				return other.values[name]
			}
		}
	}
	return ""
}

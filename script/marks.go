package script

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pattern"
	"github.com/unitd/unitd/state"
)

// markCommands compare what has come of two ways to the same end.
func markCommands() []Cmd {
	return []Cmd{
		{Name: "mark", Args: "NAME", Summary: "note how the charms' applications look, for same: statuses, ports, databags, leader settings, storage, secrets, and files of isolated units; at a second mark of a name only what is alike in both counts", run: (*call).mark},
		{Name: "same", Args: "[--but KIND,…] NAME [UNIT=FORMER…]", Summary: "check that they look as at that mark, but for facts of these kinds: files, values (of databags), messages (of statuses), secrets, settings (of leaders), ports, storage, version; UNIT stands for what FORMER was then", run: (*call).same},
		{Name: "facts", Summary: "print how the charms' applications look, as mark notes it, with one fact on each line", run: (*call).facts},
		{Name: "forget", Args: "NAME…", Summary: "drop snapshots and marks, which take space", run: (*call).forget},
	}
}

// mark is how the applications of charms looked: each fact by what it is about.
type mark struct {
	facts map[string]sighted
	// vary has the facts that weren't alike at all marks of the name.
	vary map[string]bool
	// comes has those of them that there weren't at all of the marks.
	comes map[string]bool
	// relations are the ids of relations, by what they relate.
	relations map[string]model.RelationID
}

// sighted is a fact of a mark: what kind of fact it is, for --but, and its value.
type sighted struct{ kind, value string }

// The kinds of facts of a mark, as --but has them, beside those that count always.
const (
	sightFiles    = "files"
	sightValues   = "values"
	sightMessages = "messages"
	sightSecrets  = "secrets"
	sightSettings = "settings"
	sightPorts    = "ports"
	sightStorage  = "storage"
	sightVersion  = "version"
)

var sightKinds = []string{sightFiles, sightValues, sightMessages, sightSecrets, sightSettings, sightPorts, sightStorage, sightVersion}

func (c *call) mark() error {
	if len(c.args) != 1 || !snapshotName.MatchString(c.args[0]) {
		return c.usagef("expected a name of letters, digits and any of . _ + - /")
	}
	now, relations, err := c.sight()
	if err != nil {
		return err
	}
	if c.marks == nil {
		c.marks = map[string]*mark{}
	}
	name := c.args[0]
	if c.marks[name] == nil {
		c.marks[name] = &mark{facts: now, vary: map[string]bool{}, comes: map[string]bool{}, relations: relations}
		return nil
	}
	m := c.marks[name]
	for _, key := range differing(m.facts, now) {
		_, was := m.facts[key]
		_, is := now[key]
		if m.vary[key] = true; was != is {
			m.comes[key] = true
		}
	}
	return nil
}

// differing are the facts that two sights don't agree about, sorted.
func differing(a, b map[string]sighted) (keys []string) {
	for key, value := range a {
		if b[key] != value {
			keys = append(keys, key)
		}
	}
	for key := range b {
		if _, ok := a[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (c *call) forget() error {
	if len(c.args) == 0 {
		return c.usagef("expected names")
	}
	for _, name := range c.args {
		k, m := c.kept[name], c.marks[name]
		if k == nil && m == nil {
			return misuse{fmt.Errorf("there is neither a snapshot nor a mark %q", name)}
		}
		delete(c.marks, name)
		if k == nil {
			continue
		}
		delete(c.kept, name)
		if err := c.drop(k); err != nil {
			return errors.Annotatef(err, "cannot remove snapshot %q", name)
		}
	}
	return nil
}

func (c *call) facts() error {
	if len(c.args) > 0 {
		return c.usagef("expected nothing more")
	}
	now, _, err := c.sight()
	if err != nil {
		return err
	}
	c.printf("") // nothing is something that was printed, too
	for _, key := range slices.Sorted(maps.Keys(now)) {
		c.printf("%s\n", strings.TrimSpace(key+" "+now[key].value))
	}
	return nil
}

// sameLines bounds how many differences are told.
const sameLines = 12

func (c *call) same() error {
	args := c.args
	var but []string
	if len(args) > 1 && args[0] == "--but" {
		but, args = strings.Split(args[1], ","), args[2:]
	}
	for _, kind := range but {
		if !slices.Contains(sightKinds, kind) {
			return c.usagef("there are no facts of kind %q; there are %s", kind, strings.Join(sightKinds, ", "))
		}
	}
	if len(args) == 0 {
		return c.usagef("expected the name of a mark")
	}
	then := c.marks[args[0]]
	if then == nil {
		return misuse{fmt.Errorf("there is no mark %q", args[0])}
	}
	now, relations, err := c.sight()
	if err != nil {
		return err
	}
	for _, pair := range args[1:] {
		unit, former, ok := strings.Cut(pair, "=")
		if !ok {
			return c.usagef("%q is not UNIT=FORMER", pair)
		}
		now = renamed(now, unit, former)
	}
	var lines []string
	for _, key := range differing(then.facts, now) {
		was, had := then.facts[key]
		is, has := now[key]
		kind := is.kind
		if !has {
			kind = was.kind
		}
		if then.comes[key] || then.vary[key] && had && has || slices.Contains(but, kind) || had && has && kind == sightValues && alike(was.value, is.value, then.relations, relations) {
			continue
		}
		lines = append(lines, difference(key, was.value, had, is.value, has))
	}
	if len(lines) > sameLines {
		lines = append(lines[:sameLines], fmt.Sprintf("… and %d more", len(lines)-sameLines))
	}
	if len(lines) == 0 {
		return nil
	}
	return errors.Errorf("not as at mark %q:\n%s", args[0], strings.Join(lines, "\n"))
}

func difference(key, was string, had bool, is string, has bool) string {
	switch {
	case !had:
		return strings.TrimSpace("+ " + key + " " + is)
	case !has:
		return strings.TrimSpace("- " + key + " " + was)
	}
	return fmt.Sprintf("~ %s: %s -> %s", key, was, is)
}

// renamed are the facts with a unit under another's name.
func renamed(facts map[string]sighted, unit, former string) map[string]sighted {
	other := regexp.MustCompile(`\b` + regexp.QuoteMeta(unit) + `\b`)
	out := map[string]sighted{}
	for key, value := range facts {
		value.value = other.ReplaceAllString(value.value, former)
		out[other.ReplaceAllString(key, former)] = value
	}
	return out
}

// secretURI is one in a databag: the same secret has another one each time.
var secretURI = pattern.New(`\bsecret:[0-9a-z/-]+`)

// sight is how the applications of charms look, but for what differs from one run to the next
// by itself: the ids of relations, secrets and charms, and who leads.
func (c *call) sight() (map[string]sighted, map[string]model.RelationID, error) {
	m, err := c.model()
	if err != nil {
		return nil, nil, err
	}
	p, err := m.Picture(c.ctx)
	if err != nil {
		return nil, nil, err
	}
	charmed, err := c.charmed(m)
	if err != nil {
		return nil, nil, err
	}
	relations, secrets, storages := map[model.RelationID]string{}, map[string]int{}, map[string][]string{}
	for _, f := range p {
		if f.Kind == model.FactRelation {
			relations[f.Relation] = f.Of
		}
	}
	facts := map[string]sighted{}
	for _, f := range p {
		if f.Kind != model.FactRelation && !charmed[applicationOf(f.Of)] {
			continue
		}
		value := secretURI.Regexp().ReplaceAllString(f.Value, "secret:…")
		switch f.Kind {
		case model.FactBag:
			key := fmt.Sprintf("databag %s %s %s", relations[f.Relation], f.Of, f.Key)
			facts[key] = sighted{value: ""}
			facts[key+" ="] = sighted{sightValues, value}
		case model.FactSecret:
			secrets[f.Of]++
		case model.FactStorage:
			name, _, _ := strings.Cut(f.Key, "/")
			key := fmt.Sprintf("storage of %s %s", f.Of, name)
			storages[key] = append(storages[key], value)
		default:
			maps.Copy(facts, plainSight(f, value))
		}
	}
	for owner, n := range secrets {
		facts["secrets of "+owner] = sighted{sightSecrets, strconv.Itoa(n)}
	}
	maps.Copy(facts, storageSight(storages))
	return facts, relationIDs(p), c.addFiles(m, facts)
}

// storageSight are the facts of storages, by whose they are and their name, which a unit can have
// several of: they are numbered, as their ids differ from one run to the next.
func storageSight(storages map[string][]string) map[string]sighted {
	facts := map[string]sighted{}
	for key, values := range storages {
		slices.Sort(values)
		for i, value := range values {
			numbered := key
			if i > 0 {
				numbered = fmt.Sprintf("%s #%d", key, i+1)
			}
			facts[numbered] = sighted{sightStorage, value}
		}
	}
	return facts
}

// plainSight is a fact that isn't compared in a way of its own.
func plainSight(f model.Fact, value string) map[string]sighted {
	key := fmt.Sprintf("%s %s", f.Of, f.Key)
	switch {
	case f.Kind == model.FactState, f.Key == "leader", f.Key == "charm":
		return nil
	case f.Kind == model.FactRelation:
		return map[string]sighted{"relation " + f.Of: {value: value}}
	case f.Key == "status":
		status, message, _ := strings.Cut(value, " ")
		return map[string]sighted{key: {value: status}, key + " message": {sightMessages, message}}
	case f.Key == "version":
		return map[string]sighted{key: {sightVersion, value}}
	case f.Kind == model.FactLeaderSettings:
		return map[string]sighted{"leader setting of " + key: {sightSettings, value}}
	case f.Kind == model.FactPort:
		return map[string]sighted{f.Of + " opens " + f.Key: {kind: sightPorts}}
	}
	return map[string]sighted{key: {value: value}}
}

func applicationOf(name string) string {
	application, _, _ := strings.Cut(name, "/")
	return application
}

// charmed are the applications that have a charm.
func (c *call) charmed(m *state.Model) (map[string]bool, error) {
	apps, err := m.Applications(c.ctx)
	if err != nil {
		return nil, err
	}
	charmed := map[string]bool{}
	for _, app := range apps {
		charm, err := m.Charm(c.ctx, app.Charm)
		if err != nil {
			return nil, err
		}
		charmed[app.Name] = charm.Charm.Name != stubCharm
	}
	return charmed, nil
}

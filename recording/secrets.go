package recording

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pattern"
)

// notSecret are values that say nothing, in lower case.
var notSecret = []string{"true", "false", "yes", "no", "on", "off", "none", "null", "nil", "unset", "default"}

// shortSecret is the length in bytes below which a value is a secret only
// beside its key: "abc" is all over any text.
const shortSecret = 4

// secrets are the values that are to be replaced.
type secrets struct {
	values []string // in the order in which they were found
	short  []pair
	seen   map[pair]bool
	// passwords are keys of secrets besides those that look like it.
	passwords []string
	// named says of values that they are names, ids has those of secrets.
	named func(string) bool
	ids   map[string]bool
}

// secretKey says whether the value of such a key is a secret.
func (s *secrets) secretKey(key string) bool {
	if model.NamesSecret(key) {
		return true
	}
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		key = key[i+1:] // of a parameter in a parameter
	}
	return slices.Contains(s.passwords, key)
}

// public says whether a value is none that has to be hidden, whatever its key
// is: the URI of a secret, by which nobody can read it who may not, or a name.
func (s *secrets) public(value string) bool {
	id, _, err := model.ParseSecretURI(value)
	if err == nil && (strings.HasPrefix(value, "secret:") || s.ids[string(id)]) {
		return true
	}
	return s.named != nil && s.named(value)
}

// pair is a key and its value; the key is empty where the value alone counts.
type pair struct{ key, value string }

// secretsOf finds the secrets of a recording; named is that of Redact.
func secretsOf(r *Recording, named func(string) bool) *secrets {
	names := namesOf(r)
	s := &secrets{seen: map[pair]bool{}, passwords: r.Passwords, ids: idsOf(r)}
	s.named = func(v string) bool { return slices.Contains(names, v) || named != nil && named(v) }
	for _, v := range r.Env {
		name, value, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "JUJU_SECRET_") {
			continue // which secret it is about, by its id and label
		}
		s.find(name, value, false, 0)
	}
	for _, c := range r.Calls {
		s.call(c)
		for _, one := range batched(c) {
			s.call(one)
		}
	}
	for i := range r.Asked {
		s.asked(&r.Asked[i])
	}
	s.urls(r.Message)
	return s
}

// nameVariables have names of the model in the environment of a hook.
var nameVariables = []string{
	"JUJU_MODEL_NAME", "JUJU_MODEL_UUID", "JUJU_UNIT_NAME", "JUJU_PRINCIPAL_UNIT", "JUJU_REMOTE_APP", "JUJU_REMOTE_UNIT",
	"JUJU_DEPARTING_UNIT", "JUJU_RELATION", "JUJU_STORAGE_ID",
}

// namesOf are the names of the model that a recording tells of.
func namesOf(r *Recording) []string {
	names := []string{r.Charm, "admin"}
	for _, name := range nameVariables {
		names = append(names, r.Getenv(name))
	}
	for _, name := range append(names, string(r.Unit)) {
		if unit, err := model.ParseUnitName(name); err == nil {
			names = append(names, name, unit.Application(), unit.Tag())
		}
	}
	return names
}

// inText is the URI of a secret in a text.
var inText = pattern.New(`secret:(?://[0-9a-f-]+/)?([0-9a-v]{20})\b`)

// idsOf are the ids of secrets that a recording tells of.
func idsOf(r *Recording) map[string]bool {
	ids := map[string]bool{}
	note := func(text string) {
		for _, m := range inText.Regexp().FindAllStringSubmatch(text, -1) {
			ids[m[1]] = true
		}
	}
	for _, v := range r.Env {
		note(v)
	}
	for _, c := range r.Calls {
		for _, one := range append(batched(c), c) {
			note(strings.Join(one.Args, " "))
			for _, text := range [][]byte{one.Stdin, one.File, one.Stdout} {
				note(string(text))
			}
			if len(one.Args) > 0 && one.Args[0] == "secret-ids" {
				for _, id := range bareID.Regexp().FindAllString(string(one.Stdout), -1) {
					ids[id] = true
				}
			}
		}
	}
	for i := range r.Asked {
		for _, c := range r.Asked[i].contents() {
			note(string(c.Bytes))
		}
	}
	return ids
}

// bareID is an id of a secret, as secret-ids prints it.
var bareID = pattern.New(`\b[0-9a-v]{20}\b`)

func (s *secrets) call(c Call) {
	whole := ""
	for i, arg := range c.Args {
		if key, value, ok := strings.Cut(arg, "="); ok && i > 0 {
			if _, named := pathArg(c.Args[0], arg); named {
				continue // it names a file
			}
			s.find(lastWord(key), strings.TrimSpace(value), false, 0)
		} else if i > 0 && strings.HasSuffix(c.Args[0], "-get") && !strings.ContainsAny(arg, "/:") && arg[:min(1, len(arg))] != "-" && s.secretKey(arg) {
			whole = arg
		}
		s.urls(arg)
	}
	for _, text := range [][]byte{c.Stdin, c.File, c.Stdout, c.Stderr} {
		s.document(string(text), false, 0)
		s.urls(string(text))
	}
	if whole != "" && c.Code == 0 {
		s.answer(whole, string(c.Stdout))
	}
}

// lastWord is the key at the end of what stands before a "=", which may be a
// sentence of a log: "made a new password".
func lastWord(text string) string {
	i := strings.LastIndexAny(text, " \t\n\"'`([{,;")
	return strings.TrimLeft(text[i+1:], "-")
}

// answer is what was printed for a key whose value is a secret.
func (s *secrets) answer(key, text string) {
	var node yaml.Node
	plain := strings.TrimSuffix(text, "\n")
	s.add(key, plain)
	if yaml.Unmarshal([]byte(text), &node) == nil {
		s.node(key, &node, true, 0)
	}
}

func (s *secrets) urls(text string) {
	for _, m := range model.PasswordInURL.Regexp().FindAllStringSubmatch(text, -1) {
		s.add("", m[1])
	}
}

// maxDepth bounds documents in documents.
const maxDepth = 8

// find looks at the value of a key.
func (s *secrets) find(key, value string, secret bool, depth int) {
	secret = secret || s.secretKey(key)
	if s.document(value, secret, depth+1) {
		return
	}
	if secret || strings.Contains(value, model.PrivateKey) {
		s.add(key, value)
	}
	s.urls(value)
}

// document looks into text that is a map or a list in JSON or YAML, and says
// whether it is.
func (s *secrets) document(text string, secret bool, depth int) bool {
	if depth > maxDepth || !strings.ContainsAny(text, ":-[") || strings.HasPrefix(text, "-----") {
		return false
	}
	var node yaml.Node
	if yaml.Unmarshal([]byte(text), &node) != nil || len(node.Content) == 0 || node.Content[0].Kind == yaml.ScalarNode {
		return false
	}
	s.node("", &node, secret, depth)
	return true
}

func (s *secrets) node(key string, n *yaml.Node, secret bool, depth int) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := n.Content[i].Value
			s.node(k, n.Content[i+1], secret || s.secretKey(k), depth)
		}
	case yaml.DocumentNode, yaml.SequenceNode:
		for _, e := range n.Content {
			s.node(key, e, secret, depth)
		}
	case yaml.ScalarNode:
		// Numbers and truths of a secret's kind are how long it is or lives.
		if n.ShortTag() == "!!str" {
			s.find(key, n.Value, secret, depth)
		}
	}
}

// add adds a secret. Of one with several lines each line is one, so that it is
// found in whichever way the lines are written.
func (s *secrets) add(key, value string) {
	for line := range strings.Lines(value) {
		line = strings.TrimSpace(line)
		if line == "" || s.public(line) || strings.HasPrefix(line, "-----") || slices.Contains(notSecret, strings.ToLower(line)) {
			continue
		}
		p := pair{value: line}
		if len(line) < shortSecret {
			p.key = key
		}
		if s.seen[p] {
			continue
		}
		s.seen[p] = true
		if len(line) < shortSecret {
			if key != "" {
				s.short = append(s.short, p)
			}
			continue
		}
		s.values = append(s.values, line)
	}
}

package recording

import (
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// secretWords are what keys of secrets have in them, without "-", "_" and ".".
var secretWords = []string{"password", "passwd", "passphrase", "secret", "token", "privatekey", "apikey", "credential"}

// separators are what key names are written with.
var separators = strings.NewReplacer("-", "", "_", "", ".", "", " ", "")

// secretKey says whether the value of such a key is a secret.
func secretKey(key string) bool {
	key = separators.Replace(strings.ToLower(key))
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(key, word) })
}

// inURL is the password of a URL.
var inURL = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@"'\\]*:([^\s/@"'\\]+)@`)

// privateKey marks text that is a secret whatever its key is.
const privateKey = "PRIVATE KEY-----"

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
}

// pair is a key and its value; the key is empty where the value alone counts.
type pair struct{ key, value string }

// secretsOf finds the secrets of a recording.
func secretsOf(r *Recording) *secrets {
	s := &secrets{seen: map[pair]bool{}}
	for _, v := range r.Env {
		name, value, _ := strings.Cut(v, "=")
		s.find(name, value, false, 0)
	}
	for _, c := range r.Calls {
		s.call(c)
		for _, one := range batched(c) {
			s.call(one)
		}
	}
	s.urls(r.Message)
	return s
}

func (s *secrets) call(c Call) {
	whole := ""
	for i, arg := range c.Args {
		if key, value, ok := strings.Cut(arg, "="); ok && i > 0 {
			s.find(strings.TrimLeft(key, "-"), strings.TrimSpace(value), false, 0)
		} else if i > 0 && strings.HasSuffix(c.Args[0], "-get") && !strings.ContainsAny(arg, "/:") && arg[:min(1, len(arg))] != "-" && secretKey(arg) {
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
	for _, m := range inURL.FindAllStringSubmatch(text, -1) {
		s.add("", m[1])
	}
}

// maxDepth bounds documents in documents.
const maxDepth = 8

// find looks at the value of a key.
func (s *secrets) find(key, value string, secret bool, depth int) {
	secret = secret || secretKey(key)
	if s.document(value, secret, depth+1) {
		return
	}
	if secret || strings.Contains(value, privateKey) {
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
			s.node(k, n.Content[i+1], secret || secretKey(k), depth)
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
		if line == "" || strings.HasPrefix(line, "-----") || slices.Contains(notSecret, strings.ToLower(line)) {
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

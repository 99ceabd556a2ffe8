package replay

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Run is what a program did, from its start to its end. All texts have hidden Names.
type Run struct {
	Calls []Call `json:"calls,omitempty"`
	End   End    `json:"end"`
}

// Call is a call that a program made, and what it heard.
type Call struct {
	Request Request `json:"request"`
	Reply   Reply   `json:"reply"`
}

// Request is what is asked.
type Request struct {
	Args []string `json:"args"`
	// Files are what was in the files that arguments name, which have FileArg in the place
	// of their paths: such files are often temporary.
	Files []string `json:"files,omitempty"`
	// Dir is where the program asked.
	Dir      string `json:"dir"`
	StdinSet bool   `json:"stdin-set,omitempty"`
	Stdin    string `json:"stdin,omitempty"`
}

// FileArg stands in an argument for the path of one of Request.Files, in their order.
const FileArg = opening + "file" + closing

// key tells requests apart.
func (r Request) key() string {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // it has texts alone
	}
	return string(b)
}

// String is the request for people, without what may be secret.
func (r Request) String() string {
	if len(r.Args) == 0 {
		return "an empty call"
	}
	return r.Args[0]
}

// Reply is what comes of a call.
type Reply struct {
	Code   int    `json:"code,omitempty"`
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
}

// End is how a program ends.
type End struct {
	Exit    int      `json:"exit,omitempty"`
	Printed []Line   `json:"printed,omitempty"`
	Changes []Change `json:"changes,omitempty"`
}

// Line is a line that a program prints, on standard error or else on standard output.
type Line struct {
	Err  bool   `json:"err,omitempty"`
	Text string `json:"text"`
}

// Change is what a program made of a path in its directory.
type Change struct {
	Path string `json:"path"`
	// Mode is that of what is there now, as the kernel has it; 0: nothing is.
	Mode uint32 `json:"mode,omitempty"`
	// Sum names the content of a file; Target is that of a link.
	Sum    string `json:"sum,omitempty"`
	Target string `json:"target,omitempty"`
	// Like is the same for contents that mean the same; empty: Sum is.
	Like string `json:"like,omitempty"`
}

// same says whether two changes mean the same.
func (c Change) same(d Change) bool {
	if c.Like != "" || d.Like != "" {
		c.Sum, d.Sum = "", ""
	}
	return c == d
}

// differs says for people in what two ends differ; empty: in nothing. How lines on the two
// streams stand to each other is left to chance.
func (e End) differs(f End) string {
	stream := func(e End, err bool) (texts []string) {
		for _, l := range e.Printed {
			if l.Err == err {
				texts = append(texts, l.Text)
			}
		}
		return texts
	}
	switch {
	case e.Exit != f.Exit:
		return fmt.Sprintf("it exits with %d and with %d", e.Exit, f.Exit)
	case !slices.Equal(stream(e, false), stream(f, false)) || !slices.Equal(stream(e, true), stream(f, true)):
		return "it prints something else"
	}
	for i := range max(len(e.Changes), len(f.Changes)) {
		switch {
		case i >= len(e.Changes):
			return fmt.Sprintf("it changes %s only once", f.Changes[i].Path)
		case i >= len(f.Changes):
			return fmt.Sprintf("it changes %s only once", e.Changes[i].Path)
		case !e.Changes[i].same(f.Changes[i]):
			return fmt.Sprintf("it makes something else of %s", min(e.Changes[i].Path, f.Changes[i].Path))
		}
	}
	return ""
}

// Key is short for what a program starts with.
func Key(inputs ...string) string {
	sum := sha256.New()
	for _, s := range inputs {
		fmt.Fprintf(sum, "%d:%s", len(s), s)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:16])
}

// Environment is an environment as it is part of what a program starts with: sorted,
// without what without names. It is false for one that can't be remembered.
func (n Names) Environment(env []string, without func(name string) bool) (string, bool) {
	var all []string
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		if without(name) {
			continue
		}
		hidden, ok := n.Hide(v)
		if !ok {
			return "", false
		}
		all = append(all, hidden)
	}
	slices.Sort(all)
	return strings.Join(all, "\n"), true
}

package script

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/theory/jsonpath"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// claimCommands say what has to be so, of the model and of what the last command has printed.
// They print nothing themselves, so that several can follow one command.
func claimCommands() []Cmd {
	return []Cmd{
		{Name: "workload", Args: "UNIT|APPLICATION STATUS [MESSAGE]", Summary: "check the status that the charm has set, and that its message has a match of the regular expression", run: keeping((*call).workload)},
		{Name: "agent-status", Args: "UNIT STATUS [MESSAGE]", Summary: "the same for what the unit's agent is doing, such as idle or error", run: keeping((*call).agentStatus)},
		{Name: "has", Args: "TEXT", Summary: "check that what the last command printed has this text, in which no character has a meaning of its own", run: keeping((*call).has)},
		{Name: "json", Args: "PATH [PATTERN]", Summary: "check that the JSON that the last command printed has something at a path of JSONPath, and that this matches the regular expression", run: keeping((*call).json)},
		{Name: "capture", Args: "NAME [PATH]", Summary: "put what the last command printed, or what its JSON has at a path, into $NAME, without the newline at its end", run: keeping((*call).capture)},
	}
}

// keeping is a command after which what was printed before it is still there, also if it was
// expected to fail and says why.
func keeping(claim func(*call) error) func(*call) error {
	return func(c *call) error {
		before := c.printed()
		err := claim(c)
		if err != nil {
			c.printf("%s", before)
		}
		return err
	}
}

// workloadStatuses and agentStatuses are those that there can be.
func workloadStatuses() []string {
	return append(model.CharmStatuses(), model.StatusUnknown, model.StatusError, model.StatusTerminated)
}

func agentStatuses() []string {
	return []string{
		model.StatusAllocating, model.StatusIdle, model.StatusExecuting, model.StatusError, model.StatusFailed, model.StatusLost,
		model.StatusRebooting,
	}
}

func (c *call) workload() error {
	return c.claim(workloadStatuses(), func(s *state.FullStatus, name string) (model.Status, bool) {
		for _, app := range s.Applications {
			if app.Name == name {
				return app.Status, true
			}
		}
		u, found := unitIn(s, name)
		return u.Workload, found
	})
}

func (c *call) agentStatus() error {
	return c.claim(agentStatuses(), func(s *state.FullStatus, name string) (model.Status, bool) {
		u, found := unitIn(s, name)
		return u.Agent, found
	})
}

func unitIn(s *state.FullStatus, name string) (state.UnitView, bool) {
	for _, app := range s.Applications {
		for _, u := range app.Units {
			if string(u.Name) == name {
				return u, true
			}
		}
	}
	return state.UnitView{}, false
}

// claim compares a status with what the line says it is, which is one of those known, so that a
// slip of the pen after "!" isn't a claim that always holds.
func (c *call) claim(known []string, of func(s *state.FullStatus, name string) (model.Status, bool)) error {
	if len(c.args) < 2 || len(c.args) > 3 {
		return c.usagef("expected a name and a status, and perhaps what its message matches")
	}
	message, err := c.pattern(2)
	if err != nil {
		return err
	}
	if !slices.Contains(known, c.args[1]) {
		return c.usagef("there is no status %q; there are %s", c.args[1], strings.Join(known, ", "))
	}
	m, err := c.model()
	if err != nil {
		return err
	}
	s, err := m.Status(c.ctx)
	if err != nil {
		return err
	}
	is, found := of(s, c.args[0])
	if !found {
		return misuse{fmt.Errorf("there is no %q%s", c.args[0], c.others(m))}
	}
	switch {
	case string(is.Status) != c.args[1]:
		return fmt.Errorf("%s is %s, not %s", c.args[0], shownStatus(is), c.args[1])
	case message != nil && !message.MatchString(is.Message):
		return fmt.Errorf("%s is %s, and its message doesn't match %q", c.args[0], shownStatus(is), c.args[2])
	}
	return nil
}

func shownStatus(s model.Status) string {
	if s.Message == "" {
		return string(s.Status) + " without a message"
	}
	return fmt.Sprintf("%s (%s)", s.Status, s.Message)
}

// pattern is an argument that is a regular expression, in which ^ and $ are ends of lines, as
// for stdout; nil: there is none.
func (c *call) pattern(n int) (*regexp.Regexp, error) {
	if len(c.args) <= n {
		return nil, nil
	}
	re, err := regexp.Compile("(?m)" + c.args[n])
	if err != nil {
		return nil, c.usagef("%q is not a regular expression: %v", c.args[n], err)
	}
	return re, nil
}

// printed is what the last command has printed.
func (c *call) printed() string { return c.ts.ReadFile("stdout") }

func (c *call) has() error {
	if len(c.args) != 1 || c.args[0] == "" {
		return c.usagef("expected a text")
	}
	if !strings.Contains(c.printed(), c.args[0]) {
		return fmt.Errorf("%q isn't in what was printed", c.args[0])
	}
	return nil
}

func (c *call) json() error {
	if len(c.args) != 1 && len(c.args) != 2 {
		return c.usagef("expected a path, and perhaps a regular expression")
	}
	want, err := c.pattern(1)
	if err != nil {
		return err
	}
	have, err := c.at(c.args[0])
	if err != nil {
		return err
	}
	if want == nil {
		return nil
	}
	for _, text := range have {
		if want.MatchString(text) {
			return nil
		}
	}
	return fmt.Errorf("at %s is %s, which doesn't match %q", c.args[0], strings.Join(have, ", "), c.args[1])
}

// at is what the JSON that the last command printed has at a path, at least one value: texts
// as they are, everything else as JSON.
func (c *call) at(path string) ([]string, error) {
	if !strings.HasPrefix(path, "$") {
		path = "$" + path
	}
	p, err := jsonpath.Parse(path)
	if err != nil {
		return nil, c.usagef("%q is not a path: %s", path, strings.TrimPrefix(err.Error(), "jsonpath: "))
	}
	var doc any
	if err := json.Unmarshal([]byte(c.printed()), &doc); err != nil {
		return nil, misuse{errors.New("what the last command printed isn't JSON: has it --format json?")}
	}
	found := p.Select(doc)
	if len(found) == 0 {
		return nil, fmt.Errorf("there is nothing at %s", path)
	}
	texts := make([]string, len(found))
	for i, value := range found {
		if text, ok := value.(string); ok {
			texts[i] = text
			continue
		}
		b, err := json.Marshal(value)
		if err != nil {
			return nil, errors.Trace(err)
		}
		texts[i] = string(b)
	}
	return texts, nil
}

// variable says whether it is the name of an environment variable.
func variable(name string) bool {
	return name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") == "" && (name[0] < '0' || name[0] > '9')
}

func (c *call) capture() error {
	if len(c.args) != 1 && len(c.args) != 2 || !variable(c.args[0]) {
		return c.usagef("expected the name of a variable, and perhaps a path")
	}
	text := c.printed()
	if len(c.args) == 2 {
		have, err := c.at(c.args[1])
		if err != nil {
			return err
		}
		if len(have) != 1 {
			return fmt.Errorf("there are %d values at %s, and a variable has one", len(have), c.args[1])
		}
		text = have[0]
	}
	c.ts.Setenv(c.args[0], strings.TrimSuffix(text, "\n"))
	return nil
}

package check

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
	"github.com/unitd/unitd/schema"
)

// learnActions finds the calls of actions that succeed, two of each that has parameters.
func (p *player) learnActions(ctx context.Context, w *World) error {
	for _, name := range slices.Sorted(maps.Keys(w.Charm.Actions)) {
		called := false
		for _, edition := range []int{1, 2} {
			if err := ctx.Err(); err != nil {
				return errors.Trace(err)
			}
			call, ok := actionCall(name, w.Charm.Actions[name].Params, edition)
			if !ok || slices.Contains(w.Actions, call) {
				continue
			}
			ok, err := p.good(w.deploy(1), []string{"run " + w.Unit() + " " + call, "settle"})
			if err != nil {
				return err
			}
			switch {
			case ok && !called:
				w.Actions, called = append(w.Actions, call), true
			case ok:
				w.More = append(w.More, call)
			}
		}
		if !called {
			w.Odd = append(w.Odd, "action "+name+": no call of it has succeeded")
		}
	}
	return nil
}

// actionCall is a call with a value for each parameter that is required, other ones for each edition where there are
// such; false: no values were found that the action's schema allows.
func actionCall(name string, params map[string]any, edition int) (string, bool) {
	call := name
	text, err := json.Marshal(params)
	if err != nil {
		return "", false
	}
	all, err := decoded(text)
	if err != nil {
		return "", false
	}
	of, _ := all.(map[string]any)
	required, _ := of["required"].([]any)
	properties, _ := of["properties"].(map[string]any)
	for _, param := range slices.Sorted(maps.Keys(properties)) {
		if !slices.Contains(required, any(param)) {
			continue
		}
		value, ok := parameter(param, of, properties[param], edition)
		if !ok {
			return "", false
		}
		call += fmt.Sprintf(" %s=%s", param, quoted(inYAML(value)))
	}
	return call, true
}

// parameter is a value that a schema allows, which is within that of all parameters: a plain one if it may be.
func parameter(name string, all, of any, edition int) (any, bool) {
	tidy := tidied(all, of)
	rules, err := schema.Parse(tidy)
	if err != nil {
		return nil, false
	}
	if _, enum := tidy["enum"]; !enum && (tidy["default"] == nil || edition > 1) {
		for _, plain := range []any{fmt.Sprintf("%s-%d", name, edition), edition + 1, edition == 1} {
			if rules.Check(plain) == nil {
				return plain, true
			}
		}
	}
	var former []any
	for {
		v, ok := (&valuer{host: "10.0.0.1", left: maxMade}).make(tidy, name, former, 0)
		switch {
		case ok && len(former)+1 < edition:
			former = append(former, v)
			continue
		case !ok && len(former) > 0:
			return former[0], true
		}
		return v, ok
	}
}

// plainYAML is a text that is itself in YAML, whatever reads it, and notText what looks like one and isn't.
var (
	plainYAML = pattern.New(`^[A-Za-z][A-Za-z0-9-]*$`)
	notText   = pattern.New(`^(?i:y|n|yes|no|on|off|true|false|null)$`)
)

// inYAML writes a value as an argument of "run" takes it.
func inYAML(v any) string {
	if text, ok := v.(string); ok && plainYAML.MatchString(text) && !notText.MatchString(text) {
		return text
	}
	b, err := json.Marshal(v)
	if err != nil {
		return strconv.Quote(fmt.Sprint(v))
	}
	return string(b)
}

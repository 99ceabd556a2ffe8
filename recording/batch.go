package recording

import (
	"bytes"
	"encoding/json"
)

// batched are the calls that a call of unitd-batch has made, with what each has
// answered; none for any other call. Source: docs/hook-tools.md.
func batched(c Call) []Call {
	if len(c.Args) == 0 || c.Args[0] != "unitd-batch" {
		return nil
	}
	type input struct {
		Args  []string
		Stdin string
	}
	type output struct {
		Code           int
		Stdout, Stderr string
	}
	var calls []Call
	for line := range bytes.Lines(c.Stdin) {
		line = bytes.TrimSpace(line)
		var in input
		if json.Unmarshal(line, &in.Args) != nil && json.Unmarshal(line, &in) != nil || len(in.Args) == 0 {
			continue
		}
		calls = append(calls, Call{Args: in.Args, Stdin: []byte(in.Stdin)})
	}
	i := 0
	for line := range bytes.Lines(c.Stdout) {
		var out output
		if i < len(calls) && json.Unmarshal(line, &out) == nil {
			calls[i].Code, calls[i].Stdout, calls[i].Stderr = out.Code, []byte(out.Stdout), []byte(out.Stderr)
		}
		i++
	}
	return calls
}

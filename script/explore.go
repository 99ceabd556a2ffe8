package script

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	"github.com/juju/errors"
)

// exploreCommands run steps in many ways.
func exploreCommands() []Cmd {
	return []Cmd{{
		Name: "explore", Args: "[-seed N] [-runs N] [-replay=false] FILE",
		Summary: "run the steps in a file in many of the ways in which they may come about, each in a world of its own; a way that fails is made as short as can be, and printed; a hook that is the same as in another way is replayed; -replay=false runs all hooks",
		run:     (*call).explore,
	}}
}

// way is one way in which steps come about: a script, line by line. What
// follows the first "# then" of the steps is claimed at the end of each.
type way struct {
	lines []string
	then  []string
}

// text is the way as a script.
func (w way) text() string {
	lines := append(append([]string(nil), w.lines...), "settle")
	return strings.Join(append(lines, w.then...), "\n") + "\n"
}

// readSteps reads the steps of a file.
func readSteps(text string) way {
	var w way
	claims := false
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "# then":
			claims = true
		case line == "" || strings.HasPrefix(line, "#"):
		case claims:
			w.then = append(w.then, line)
		default:
			w.lines = append(w.lines, line)
		}
	}
	return w
}

// vary makes another way of the same steps. What it varies are the things that
// no guarantee speaks of: which unit is faster, how far units have come when
// the next step is taken, and whether an agent is killed in between.
func (w way) vary(chance *rand.Rand) way {
	out := way{then: w.then, lines: []string{fmt.Sprintf("order %d", 1+chance.IntN(1<<20))}}
	for _, step := range w.lines {
		out.lines = append(out.lines, step)
		switch chance.IntN(6) {
		case 0:
			out.lines = append(out.lines, "settle")
		case 1, 2:
			out.lines = append(out.lines, fmt.Sprintf("run-hooks %d", 1+chance.IntN(6)))
		case 3:
			if chance.IntN(3) == 0 {
				out.lines = append(out.lines, "kill-agent", "restart-agent")
			}
		}
	}
	return out
}

func (c *call) explore() error {
	flags := flag.NewFlagSet("explore", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	seed := flags.Uint64("seed", c.engine.Seed, "")
	runs := flags.Int("runs", 50, "")
	replayed := flags.Bool("replay", true, "")
	if err := flags.Parse(c.args); err != nil || flags.NArg() != 1 || *runs < 1 {
		return c.usagef("expected a file with steps")
	}
	if *seed == 0 {
		*seed = rand.Uint64N(1 << 32)
	}
	steps := readSteps(c.ts.ReadFile(flags.Arg(0)))
	if len(steps.lines) == 0 {
		return c.usagef("%s has no steps", flags.Arg(0))
	}
	x, err := c.newExplorer(flags.Arg(0), *seed, *replayed)
	if err != nil {
		return err
	}
	defer x.close()
	found, err := x.search(steps, *runs)
	if err != nil {
		return err
	}
	c.printf("%d ways, seed %d%s\n", *runs, *seed, x.found())
	if found == nil {
		return nil
	}
	shortest := x.shrink(*found)
	return errors.Errorf("explore -seed %d: a way of these steps fails: %s\nThe shortest script that fails so, ready to keep:\n\n%s",
		*seed, shortest.why, indent(x.script(shortest.way)))
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

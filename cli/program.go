package cli

import (
	"context"
	"fmt"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/deploy"
)

// base is what most verbs need: what they print to, and the model that they are about.
type base struct {
	*output
	*focus
}

// afterEach ends a command that has done the same with several things, of which some may
// have failed: what was done needs an agent all the same.
func (a base) afterEach(done, failed int) error {
	if done > 0 || failed == 0 {
		if err := a.Ensure(); err != nil {
			return err
		}
	}
	if failed > 0 {
		return Exit(Failed)
	}
	return nil
}

// deploying is what those verbs need that bring charms into a model.
type deploying struct {
	base
	*deploy.Deployer
}

// program is one run of the command line.
type program struct{ deploying }

// newProgram is a run by a program of that name, with these streams, until the context
// ends.
func newProgram(ctx context.Context, command string, s Streams) *program {
	host := agent.New(ctx, s.Err, command)
	host.Show = answerStatus
	return &program{deploying{base{&output{Streams: s}, &focus{Host: host}}, deploy.New(host, s.Err)}}
}

// close lets go of all that the command has opened.
func (a *program) close() {
	a.LetGo()
	if err := a.CloseStore(); err != nil {
		fmt.Fprintln(a.Err, "WARNING", err)
	}
}

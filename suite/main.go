// Suite runs the stages of "make test" and says at the end what they have cost:
// the ten slowest tests, and how long the processor has worked for each stage.
//
//	suite stages make STAGE...     "make STAGE" for each, until one fails; then the account
//	suite all make STAGE...        the same, but what comes after one that fails is run too
//	suite test ARGS...             "go test ARGS" whose tests are put down for the account
//
// A run of tests prints what "go test" does: a line for each package, and all
// that a failing test has said. What was skipped is counted by its reason. Go's
// own timeout is off, as it knows nothing of a busy host; a run of tests is ended
// where no test has had anything to say for a quarter of an hour, with the names of
// those that hang and a dump of their goroutines. In CI a handful of tests that have
// failed are run once more, alone, and those that pass then are named as flaky.
//
// The exit code is that of the first command that has failed.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// accountVariable names the file that a stage's tests are put down in.
const accountVariable = "UNITD_SUITE_ACCOUNT"

func main() { os.Exit(run(os.Args[1:], os.Stdout)) }

func run(args []string, out io.Writer) int {
	code, err := 2, error(nil)
	switch {
	case len(args) > 2 && (args[0] == "stages" || args[0] == "all"):
		code, err = stages(args[1], args[2:], args[0] == "all", out)
	case len(args) > 1 && args[0] == "test":
		code, err = goTest(args[1:], silence, out)
	default:
		err = errors.New("usage: suite stages|all MAKE STAGE..., or suite test ARGS")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		return max(code, 1)
	}
	return code
}

package tools

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/tools/wire"
)

const (
	batchName = "unitd-batch"
	// maxBatch is how many calls a batch may have.
	maxBatch = 10_000
	// maxBatchOutput bounds, in bytes, what a batch answers: no further call is
	// made after that.
	maxBatchOutput = 64 << 20
)

func unitdBatchTool() Tool {
	return Tool{
		Name:    batchName,
		Summary: "make many hook tool calls at once",
		Details: `Standard input has a call in each line, as JSON: a list of the tool and its arguments,
or a map of these as "args" and of standard input as "stdin". For each one line is
printed: {"code":0,"stdout":"…","stderr":"…"}, where output that isn't UTF-8 is
base64, as "stdout-base64" and "stderr-base64".

The calls are made in their order. After one that fails no other is made, unless
--keep-going is given, and the exit code is 1.

Only unitd has this tool.`,
		make: func(c *hookcontext.Context) command { return &unitdBatch{ctx: c} },
	}
}

type unitdBatch struct {
	ctx       *hookcontext.Context
	keepGoing bool
}

func (t *unitdBatch) declare(f *flags) {
	f.BoolVar(&t.keepGoing, "keep-going", false, "Make all calls, also after one that has failed")
}

func (t *unitdBatch) parse(args []string) error { return noMore(args) }

func (t *unitdBatch) run(c *call) error {
	if c.one == nil {
		return errors.New("a batch can't be part of a batch")
	}
	if !c.stdinSet {
		return errNeedStdin
	}
	calls, err := parseBatch(c.stdin)
	if err != nil {
		return errors.WithType(err, errMisuse)
	}
	for _, one := range calls {
		// They are in the batch's recording, also those that aren't made.
		hideRefused(t.ctx, one.Args[0], one.Args[1:])
	}
	out := json.NewEncoder(&c.out)
	out.SetEscapeHTML(false)
	for _, one := range calls {
		if c.out.Len() > maxBatchOutput {
			return errors.Errorf("the answers are larger than %d MiB", maxBatchOutput>>20)
		}
		reply := c.one(wire.Request{Dir: c.dir, Args: one.Args, StdinSet: one.Stdin != nil, Stdin: one.stdin()})
		if reply.Code == wire.NeedStdin {
			reply = failure(exitUsage, errNeedStdin)
		}
		if err := out.Encode(answerOf(reply)); err != nil {
			return errors.Trace(err)
		}
		if reply.Code != exitOK {
			c.code = exitFailed
		}
		if t.ctx.Over() || reply.Code != exitOK && !t.keepGoing {
			break
		}
	}
	return nil
}

// batched is one call of a batch.
type batched struct {
	Args  []string `json:"args"`
	Stdin *string  `json:"stdin"`
}

func (b batched) stdin() []byte {
	if b.Stdin == nil {
		return nil
	}
	return []byte(*b.Stdin)
}

// parseBatch takes a call of each line that isn't blank.
func parseBatch(text []byte) ([]batched, error) {
	var calls []batched
	number := 0
	for line := range bytes.Lines(text) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		one, err := parseCall(line)
		switch {
		case err != nil:
			return nil, errors.Errorf("line %d of standard input is no call: %v", number, err)
		case len(calls) == maxBatch:
			return nil, errors.Errorf("more than %d calls", maxBatch)
		}
		calls = append(calls, one)
	}
	return calls, nil
}

// parseCall reads one call. What isn't text is refused: arguments can't have it,
// and JSON's reader would put other characters in its place.
func parseCall(line []byte) (one batched, err error) {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if line[0] == '[' {
		err = dec.Decode(&one.Args)
	} else {
		err = dec.Decode(&one)
	}
	if err == nil {
		if _, more := dec.Token(); more != io.EOF {
			err = errors.New("more than one value")
		}
	}
	if _, key, ok := strings.Cut(fmt.Sprint(err), "unknown field "); ok {
		return one, errors.Errorf("unknown key %s, and there are args and stdin", key)
	}
	if err != nil || len(one.Args) == 0 {
		return one, errors.New("expected [\"TOOL\", \"ARGUMENT\", …]")
	}
	for _, text := range append(slices.Clone(one.Args), string(one.stdin())) {
		if !utf8.Valid(line) || replaced(text, line) {
			return one, errors.New("it has bytes or half a surrogate pair that are no UTF-8")
		}
	}
	return one, nil
}

// answered is the line that is printed for one call.
type answered struct {
	Code         int     `json:"code"`
	Stdout       *string `json:"stdout,omitempty"`
	StdoutBase64 string  `json:"stdout-base64,omitempty"`
	Stderr       *string `json:"stderr,omitempty"`
	StderrBase64 string  `json:"stderr-base64,omitempty"`
}

func answerOf(r wire.Reply) answered {
	a := answered{Code: r.Code}
	a.Stdout, a.StdoutBase64 = textOrBase64(r.Stdout)
	a.Stderr, a.StderrBase64 = textOrBase64(r.Stderr)
	return a
}

func textOrBase64(b []byte) (text *string, encoded string) {
	if !utf8.Valid(b) {
		return nil, base64.StdEncoding.EncodeToString(b)
	}
	s := string(b)
	return &s, ""
}

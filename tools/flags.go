package tools

import (
	"io"
	"strconv"
	"strings"

	"github.com/juju/errors"
	"github.com/juju/gnuflag"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

// flags are those of one call: the tool declares them, Run parses them.
type flags struct {
	*gnuflag.FlagSet
	ctx        *hookcontext.Context
	wantHelp   bool
	deadFormat string
}

func newFlags(tool string, ctx *hookcontext.Context) *flags {
	fs := gnuflag.NewFlagSetWithFlagKnownAs(tool, gnuflag.ContinueOnError, "option")
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	return &flags{FlagSet: fs, ctx: ctx}
}

// parse returns the arguments that are no flags. Help is wanted if it was
// asked for left of the first error.
func (f *flags) parse(args []string) ([]string, error) {
	// Declared here, help isn't left to gnuflag, which would answer with an
	// error that it keeps in a global variable and lengthens every time.
	f.Var((*helpFlag)(&f.wantHelp), "help", "")
	f.Var((*helpFlag)(&f.wantHelp), "h", "")
	err := f.Parse(true, args)
	return f.Args(), err
}

// helpFlag is on whatever value it is given.
type helpFlag bool

func (h *helpFlag) Set(string) error { *h = true; return nil }
func (h *helpFlag) String() string   { return "" }
func (h *helpFlag) IsBoolFlag() bool { return true }

// declareRelation declares -r, with the hook's relation as its default.
func (f *flags) declareRelation(id *model.RelationID) {
	*id = model.NoRelation
	if hookRelation, ok := f.ctx.HookRelation(); ok {
		*id = hookRelation
	}
	v := &relationFlag{f.ctx, id}
	f.Var(v, "r", "Specify a relation by id")
	f.Var(v, "relation", "")
}

// declareDeadFormat declares a --format that does nothing but be reported as
// out of use: some tools had one without having output.
func (f *flags) declareDeadFormat() {
	f.StringVar(&f.deadFormat, "format", "", "deprecated format flag")
}

// relationFlag is a relation that the unit is in: "3", "db:3", or whatever
// ends in ":3". Source: docs/spec/hook-tools.md §5.
type relationFlag struct {
	ctx *hookcontext.Context
	id  *model.RelationID
}

func (r *relationFlag) Set(s string) error {
	id, err := strconv.Atoi(s[strings.LastIndex(s, ":")+1:])
	if err != nil {
		return errors.New("invalid relation id")
	}
	if _, err := r.ctx.Relation(model.RelationID(id)); err != nil {
		return err
	}
	*r.id = model.RelationID(id)
	return nil
}

// String is "db:3", or nothing without a relation.
func (r *relationFlag) String() string {
	if *r.id == model.NoRelation {
		return ""
	}
	return r.ctx.Hook().RelationRef()
}

// needRelation is the error of a relation tool that was given none in a hook
// that is about none.
func needRelation(id model.RelationID) error {
	if id == model.NoRelation {
		return errors.New("no relation id specified")
	}
	return nil
}

// noMore is the error for arguments that nobody takes.
func noMore(args []string) error {
	if len(args) == 0 {
		return nil
	}
	return errors.Errorf("unrecognized args: %q", args)
}

// optional takes the one argument that there may be.
func optional(args []string) (string, error) {
	if len(args) == 0 {
		return "", nil
	}
	return args[0], noMore(args[1:])
}

// optionalKey is optional for a key, where "-" means all, as no key does.
func optionalKey(args []string) (string, error) {
	key, err := optional(args)
	if key == "-" {
		key = ""
	}
	return key, err
}

package oci

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"

	"github.com/juju/errors"
)

// LayerCommand is the first argument by which this program unpacks a layer for
// another process, whose user has many ids only where this one runs; see Main and
// Cache.Inside.
const LayerCommand = "--image-layer"

// MappedBy is Mapped for one of several mappings of ids, by a short name of it: who
// changes the ids of a user changes whom the files of layers belong to.
func MappedBy(key string) Form { return Form(string(Mapped) + "-" + key) }

// job is what that program is to do, of which one is set.
type job struct {
	Form Form `json:"form"`
	// Blob is a layer's, Dir where it is unpacked, as ID says.
	Blob string `json:"blob,omitempty"`
	Dir  string `json:"dir,omitempty"`
	ID   string `json:"id,omitempty"`
	// Below are layers of which the directories are wanted that show other attributes
	// than they are to have.
	Below []jobLayer `json:"below,omitempty"`
	// Implied are directories that are to be made in Dir.
	Implied map[string]attributes `json:"implied,omitempty"`
}

type jobLayer struct {
	Dir     string   `json:"dir"`
	Implied []string `json:"implied,omitempty"`
}

// outcome is what it says.
type outcome struct {
	Contents contents              `json:"contents"`
	Implied  map[string]attributes `json:"implied,omitempty"`
	Err      string                `json:"err,omitempty"`
	Kind     errors.ConstError     `json:"kind,omitempty"`
}

// kinds are those of errors that somebody asks about.
var kinds = []errors.ConstError{errors.NotValid, errors.NotSupported, errors.QuotaLimitExceeded, errors.NotFound}

// Main is this program as what unpacks layers for another process; ok says that the
// arguments, os.Args, are of that. Call it before anything is begun.
func Main(args []string) (code int, ok bool) {
	if len(args) != 2 || args[1] != LayerCommand {
		return 0, false
	}
	b, err := io.ReadAll(os.Stdin)
	var j job
	if err == nil {
		err = json.Unmarshal(b, &j)
	}
	var out outcome
	if err == nil {
		out, err = j.do(context.Background())
	}
	if err != nil {
		out.Err = err.Error()
		for _, kind := range kinds {
			if errors.Is(err, kind) {
				out.Kind = kind
				break
			}
		}
	}
	if json.NewEncoder(os.Stdout).Encode(out) != nil {
		return 1, true
	}
	return 0, true
}

// do does it with the rights of this process.
func (j job) do(ctx context.Context) (out outcome, err error) {
	switch {
	case j.Blob != "":
		out.Contents, err = unpackFile(ctx, j.Blob, j.Dir, j.Form, j.ID)
	case len(j.Below) > 0:
		out.Implied, err = impliedIn(ctx, j.Below)
	default:
		all := map[string]attributes{}
		maps.Copy(all, j.Implied)
		out.Contents, err = writeImplied(j.Dir, all, j.Form)
	}
	return out, errors.Trace(err)
}

// do has a job done, in the name space of the cache's form.
func (c *Cache) do(ctx context.Context, j job) (outcome, error) {
	if c.Inside == nil {
		return j.do(ctx)
	}
	b, err := json.Marshal(j)
	if err != nil {
		return outcome{}, errors.Trace(err)
	}
	if b, err = c.Inside(ctx, b, LayerCommand); err != nil {
		return outcome{}, errors.Trace(err)
	}
	var out outcome
	if err := json.Unmarshal(b, &out); err != nil {
		return out, errors.Annotate(err, "cannot understand what unpacks layers")
	}
	switch {
	case out.Kind != "":
		return out, errors.WithType(errors.New(out.Err), out.Kind)
	case out.Err != "":
		return out, errors.New(out.Err)
	}
	return out, nil
}

// impliedIn is implied of layers of which no more is known than that.
func impliedIn(ctx context.Context, below []jobLayer) (map[string]attributes, error) {
	var layers []*layer
	for _, l := range below {
		layers = append(layers, &layer{dir: l.Dir, contents: contents{Implied: l.Implied}})
	}
	all, err := implied(ctx, layers)
	return all, errors.Trace(err)
}

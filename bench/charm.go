package bench

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/state"
)

const (
	// application and option are those of each charm; peers is its peer relation, if
	// it has one.
	application = "bench"
	option      = "anything"
	peers       = "peers"
)

// nothing is a dispatch that does nothing.
const nothing = "#!/bin/sh\nexit 0\n"

// charm is a charm that measures something.
type charm struct {
	dispatch string
	peers    bool
}

// write writes the charm, and returns its directory.
func (c charm) write(dir string) (string, error) {
	dir = filepath.Join(dir, "charm")
	metadata := "name: " + application + "\nsummary: measures what hooks cost\n"
	if c.peers {
		metadata += "peers:\n  " + peers + ":\n    interface: bench\n"
	}
	err := os.Mkdir(dir, 0o700)
	for _, f := range []struct {
		name, text string
		mode       os.FileMode
	}{
		{"metadata.yaml", metadata, 0o600},
		{"config.yaml", "options:\n  " + option + ":\n    type: string\n    default: as it was\n", 0o600},
		{"dispatch", c.dispatch, 0o700},
	} {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, f.name), []byte(f.text), f.mode)
		}
	}
	return dir, errors.Annotate(err, "cannot write a charm")
}

// add brings the charm into the world's model, and returns its URL there.
func (w *world) add(ctx context.Context, c charm) (string, error) {
	dir, err := c.write(w.dir)
	if err != nil {
		return "", errors.Trace(err)
	}
	read, err := charmdir.Read(dir)
	if err != nil {
		return "", errors.Trace(err)
	}
	var archive bytes.Buffer
	sum, err := read.Archive(&archive)
	if err != nil {
		return "", errors.Trace(err)
	}
	url, err := w.model.AddCharm(ctx, read.Charm, sum, &archive)
	return url, errors.Trace(err)
}

// deploy deploys units of a charm.
func (w *world) deploy(c charm, units int, to ...string) error {
	url, err := w.add(w.ctx, c)
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(w.model.Deploy(w.ctx, state.DeployArgs{Application: application, Charm: url, Units: units, To: to}))
}

// quoted is text as a shell reads it as one word.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

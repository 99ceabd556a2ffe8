package bases

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
)

// A root gets what it lacks in a machine of its own, on the host's network: the scripts of
// packages reach nothing of the host's files and processes. What the machine's root is then,
// tar inside says to tar here, in the owners' numbers as they are inside.

// complete has the root be told what was said for it, and have the packages and the
// certificates that it lacks.
func (w *work) complete(ctx context.Context) error {
	if err := w.tell(); err != nil {
		return errors.Trace(err)
	}
	var lacks []string
	if w.recipe.Kind == Image {
		status, err := statusOf(w.root())
		if err != nil {
			return errors.Trace(err)
		}
		lacks = missing(status)
		if err := w.prepare(lacks); err != nil {
			return errors.Trace(err)
		}
	}
	certificates := len(w.settings.cas) > 0
	if certificates && len(lacks) == 0 && !w.has("usr/sbin/update-ca-certificates") {
		if w.settings.caAsked {
			return errors.NewNotValid(nil, "it has no update-ca-certificates, which --ca needs (package ca-certificates)")
		}
		w.say("base %s doesn't trust this host's CA certificates: it has no update-ca-certificates (package ca-certificates)", w.name)
		certificates = false
	}
	if len(lacks) == 0 && !certificates {
		return nil
	}
	err := w.change(ctx, script(lacks, certificates))
	if len(lacks) == 0 && !w.settings.caAsked && errors.Is(err, isolate.ErrNoRights) {
		w.say("base %s doesn't trust this host's CA certificates: %v", w.name, err)
		return nil
	}
	return errors.Trace(err)
}

// has says whether the root has something at a path.
func (w *work) has(path string) bool {
	root, err := os.OpenRoot(w.root())
	if err != nil {
		return false
	}
	defer root.Close()
	_, err = root.Stat(path)
	return err == nil
}

// prepare has the root of an image be one in which packages can be installed whole, and
// start nothing.
func (w *work) prepare(lacks []string) error {
	if len(lacks) == 0 {
		return nil
	}
	if !w.has("usr/bin/apt-get") {
		return errors.NewNotValid(nil, fmt.Sprintf("the image lacks packages (%s), and has no apt-get to install them", strings.Join(lacks, ", ")))
	}
	root, err := os.OpenRoot(w.root())
	if err != nil {
		return errors.Trace(err)
	}
	defer root.Close()
	if err := uncontain(root); err != nil {
		return errors.Trace(err)
	}
	if err := root.MkdirAll("usr/sbin", 0o755); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(root.WriteFile(policy, []byte("#!/bin/sh\nexit 101\n"), 0o755))
}

// script is what is run in the root: it makes certificates known, and installs packages,
// from an archive that one of these certificates may stand for.
func script(lacks []string, certificates bool) string {
	lines := []string{"set -e"}
	if certificates {
		lines = append(lines,
			"known() { ! command -v update-ca-certificates >/dev/null || update-ca-certificates; }",
			"known",
			// apt has no others to go by before the package is there.
			"if [ ! -e /etc/ssl/certs/ca-certificates.crt ]; then cat "+caDir+"/*.crt >/tmp/known.crt; set -- -o Acquire::https::CAInfo=/tmp/known.crt; fi")
	}
	if len(lacks) > 0 {
		lines = append(lines, `apt-get "$@" -q -o APT::Update::Error-Mode=any update`, `apt-get "$@" -q -y --no-install-recommends install `+strings.Join(lacks, " "))
	}
	if certificates && len(lacks) > 0 {
		lines = append(lines, "known")
	}
	return strings.Join(lines, "\n")
}

// own are files that a machine is given, and a base has no use for.
var own = []string{"./etc/hosts", "./etc/hostname", "./etc/resolv.conf", "./var/lib/juju", "./var/log/juju", "./usr/bin/juju-exec", "./usr/bin/juju-run", "./usr/bin/snap"}

// places are directories in which a machine has file systems of its own.
var places = map[string]os.FileMode{"dev": 0o755, "proc": 0o555, "run": 0o755, "sys": 0o555, "tmp": 0o777 | os.ModeSticky}

// change has the root be what a script makes of it.
func (w *work) change(ctx context.Context, script string) (err error) {
	const key = "base/root"
	cells := w.cells(w.dir)
	cell, err := cells.Open(ctx, key, isolate.Spec{Name: "what base " + w.name + " lacks", Hostname: "base", ID: "base", Mode: model.IsolateFiles, Root: w.root(), OS: isolate.HostOS})
	defer func() {
		if removed := cells.Remove(key); err == nil {
			err = removed
		}
	}()
	if err != nil {
		return errors.Trace(err)
	}
	cmd := w.inside(ctx, cell, "/bin/sh", "-c", script, "sh")
	cmd.Cancel = func() error { return cells.Remove(key) } // with all that the script has started
	if err := ran(cmd, w.how.Progress); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return errors.Annotate(err, "cannot install what it lacks")
	}
	taken := filepath.Join(w.dir, "taken")
	if err := os.Mkdir(taken, 0o755); err != nil {
		return errors.Trace(err)
	}
	if err := w.take(ctx, cell, taken); err != nil {
		return errors.Annotate(err, "cannot take what was installed")
	}
	if err := cells.Remove(key); err != nil { // it has the root
		return errors.Trace(err)
	}
	if err := os.RemoveAll(w.root()); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(os.Rename(taken, w.root()))
}

// inside is a program in the machine.
func (w *work) inside(ctx context.Context, cell *isolate.Cell, path string, args ...string) *exec.Cmd {
	program, all := cell.Command("/", path, args...)
	cmd := exec.CommandContext(ctx, program, all...)
	cmd.Env = append([]string{"PATH=" + isolate.Path, "HOME=/root", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"}, w.settings.environment()...)
	return cmd
}

// take has what the machine's root is in a directory.
func (w *work) take(ctx context.Context, cell *isolate.Cell, to string) error {
	args := []string{"-c", "--one-file-system", "--numeric-owner", "--xattrs", "--xattrs-include=*", "-C", "/", "-f", "-"}
	for _, path := range own {
		args = append(args, "--exclude="+path)
	}
	for dir, mode := range places {
		args = append(args, "--exclude=./"+dir)
		if err := os.Mkdir(filepath.Join(to, dir), mode.Perm()); err != nil {
			return errors.Trace(err)
		}
		if err := os.Chmod(filepath.Join(to, dir), mode); err != nil {
			return errors.Trace(err)
		}
	}
	var said, lost bytes.Buffer
	out := w.inside(ctx, cell, "/bin/tar", append(args, ".")...)
	out.Stderr = &said
	stream, err := out.StdoutPipe()
	if err != nil {
		return errors.Trace(err)
	}
	in := exec.CommandContext(ctx, "tar", append(extract, "-f", "-", "-C", to)...)
	in.Stdin, in.Stderr = stream, &lost
	if err := out.Start(); err != nil {
		return errors.Trace(err)
	}
	err = explain(in.Run(), "tar", lost.String())
	if err == nil {
		_, err = io.Copy(io.Discard, stream)
	}
	stream.Close() // so that one whose reader has failed ends
	if ended := out.Wait(); err == nil {
		err = explain(ended, "tar in the base", said.String())
	}
	return errors.Trace(err)
}

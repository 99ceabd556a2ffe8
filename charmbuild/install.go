package charmbuild

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmdir"
)

// install is one use of pip.
type install struct {
	Builder
	python  interpreter
	project *charmdir.Project
	work    string // a directory that goes afterwards
	log     string // what pip said, if it failed
}

// target is where the packages are made.
func (in install) target() string { return filepath.Join(in.work, "packages") }

func (in install) run(ctx context.Context) error {
	pip, err := in.pip(ctx)
	if err != nil {
		return err
	}
	args := append(pip, "install", "--target", in.target(), "--no-compile", "--no-input", "--no-warn-script-location",
		"--disable-pip-version-check", "--progress-bar", "off")
	calls, err := in.wanted(ctx, pip[0])
	if err != nil {
		return err
	}
	for _, more := range calls {
		if err := in.do(ctx, slices.Concat(args, more)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(in.target(), 0o755); err != nil {
		return errors.Trace(err)
	}
	// Its programs have the path of this machine's Python inside; charmcraft's
	// plugin leaves them out too.
	if err := os.RemoveAll(filepath.Join(in.target(), "bin")); err != nil {
		return errors.Trace(err)
	}
	return in.compile(ctx)
}

// compile makes byte code, without which each unit's first hooks spend their time
// on it. It is told by the source's hash whether it is up to date, not by its time,
// which an archive doesn't keep; and has no path of this machine in it. What can't
// be compiled, as it is for another Python, stays as it is.
func (in install) compile(ctx context.Context) error {
	in.step("compiling")
	cmd := command(ctx, in.python.path, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "-s", in.target(), "-p", "venv", in.target())
	cmd.Env = append(cmd.Env, "PYTHONHASHSEED=0")
	_ = cmd.Run()
	return errors.Trace(ctx.Err())
}

// pip is how pip is called: as the Python's own, as that of another Python here, or
// by a virtual environment that is made for this.
func (in install) pip(ctx context.Context) ([]string, error) {
	if in.python.pip {
		return []string{in.python.path, "-m", "pip"}, nil
	}
	if in.borrowed(ctx) {
		return []string{in.python.path, "-m", "pip"}, nil
	}
	venv := filepath.Join(in.work, "venv")
	in.step("making a virtual environment, as python3 has no pip")
	if _, err := command(ctx, in.python.path, "-m", "venv", venv).Output(); err != nil {
		if ctx.Err() != nil {
			return nil, errors.Trace(ctx.Err())
		}
		return nil, errors.NewNotFound(nil, in.python.path+" has neither pip nor what makes virtual environments: install python3-pip, or python3-venv")
	}
	return []string{filepath.Join(venv, "bin", "python"), "-m", "pip"}, nil
}

// borrowed says whether the Python, which has no pip, takes that of the one on this
// process's own PATH: that is made of modules in Python alone.
func (in install) borrowed(ctx context.Context) bool {
	other, err := exec.LookPath("python3")
	if err != nil {
		return false
	}
	out, err := command(ctx, other, "-c", "import os, pip; print(os.path.dirname(pip.__file__))").Output()
	from := strings.TrimSpace(string(out))
	if err != nil || from == "" || os.MkdirAll(in.lent(), 0o700) != nil || os.Symlink(from, filepath.Join(in.lent(), "pip")) != nil {
		return false
	}
	if in.command(ctx, in.python.path, "-m", "pip", "--version").Run() == nil {
		return true
	}
	_ = os.RemoveAll(in.lent()) // for another version of Python; nobody else is to find it
	return false
}

// lent is the directory with another Python's pip.
func (in install) lent() string { return filepath.Join(in.work, "lent") }

// command is a program that finds pip where it was borrowed.
func (in install) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := command(ctx, program, args...)
	if _, err := os.Stat(in.lent()); err == nil {
		cmd.Env = append(cmd.Env, "PYTHONPATH="+in.lent())
	}
	return cmd
}

// wanted are the arguments that say what is installed, for each call of pip.
func (in install) wanted(ctx context.Context, python string) ([][]string, error) {
	p := in.project
	if p.Plugin == "uv" || p.Plugin == "poetry" {
		return in.fromProject(ctx, python)
	}
	var args, constraints []string
	for _, file := range p.Requirements {
		args = append(args, "-r", file)
	}
	for _, file := range p.Constraints {
		constraints = append(constraints, "-c", file)
	}
	pins := readPins(p)
	if !pins.hashed {
		if args = append(args, p.Packages...); len(args) == 0 {
			return nil, nil // constraints alone ask for nothing
		}
		return [][]string{append(args, constraints...)}, nil
	}
	// Where some have hashes pip wants one of each, which nobody gives for these.
	calls := [][]string{append(args, constraints...)}
	if more := pins.without(p.Packages); len(more) > 0 {
		path := filepath.Join(in.work, "constraints.txt")
		if err := os.WriteFile(path, pins.constraints(), 0o600); err != nil {
			return nil, errors.Trace(err)
		}
		calls = append(calls, append(more, "-c", path))
	}
	return calls, nil
}

// fromProject is what poetry.lock, or uv.lock, else pyproject.toml, asks for.
func (in install) fromProject(ctx context.Context, python string) ([][]string, error) {
	p := in.project
	cmd := in.command(ctx, python, "-c", requirements, p.Dir, strings.Join(p.Extras, ","), strings.Join(p.Groups, ","), p.Plugin)
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, errors.Trace(ctx.Err())
	}
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return nil, errors.NewNotValid(nil, cmp.Or(lastLine(string(failed.Stderr)), "cannot read the project's dependencies"))
	}
	if err != nil {
		return nil, errors.Annotate(err, "cannot read the project's dependencies")
	}
	kind, lines, _ := strings.Cut(string(out), "\n")
	if strings.TrimSpace(lines) == "" {
		return nil, nil
	}
	path := filepath.Join(in.work, "requirements.txt")
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		return nil, errors.Trace(err)
	}
	for line := range strings.Lines(lines) {
		if note, ok := strings.CutPrefix(strings.TrimSpace(line), "# note: "); ok && in.Note != nil {
			in.Note(note)
		}
	}
	if kind == "locked" {
		return [][]string{{"--no-deps", "-r", path}}, nil
	}
	return [][]string{{"-r", path}}, nil
}

// do runs pip and tells of its steps.
func (in install) do(ctx context.Context, args []string) error {
	cmd := in.command(ctx, args[0], args[1:]...)
	cmd.Dir = in.project.Dir
	var said, errs bytes.Buffer
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&said, w), &errs
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			in.tell(lines.Text())
		}
		_, _ = io.Copy(io.Discard, r) // a line that is too long for the scanner
	}()
	err := cmd.Run()
	w.Close()
	<-read
	if err == nil || ctx.Err() != nil {
		return errors.Trace(ctx.Err())
	}
	log := ""
	if os.WriteFile(in.log, append(said.Bytes(), errs.Bytes()...), 0o600) == nil {
		log = "; all that it said is in " + in.log
	}
	return errors.Errorf("pip: %s%s", pipFailure(errs.String(), err), log)
}

// tell tells what pip has begun.
func (in install) tell(line string) {
	for _, begin := range []string{"Collecting ", "Downloading ", "Building wheel", "Installing collected packages"} {
		if strings.HasPrefix(strings.TrimSpace(line), begin) {
			words := strings.Fields(line)
			what := strings.ToLower(strings.Join(words[:min(len(words), 2)], " "))
			in.step(what[:min(len(what), 60)]) // in a line of a terminal
			return
		}
	}
}

func (in install) step(what string) {
	if in.Step != nil {
		in.Step(what)
	}
}

// pipFailure is the line in which pip says why it has failed: the last one
// that is an error, else the last one.
func pipFailure(said string, err error) string {
	why := ""
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "ERROR: "); ok && rest != "" {
			why = rest
		}
	}
	return cmp.Or(why, lastLine(said), err.Error())
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

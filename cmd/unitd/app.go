package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/charmbuild"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/script/lab"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/etcd"
)

// app is one run of the command line.
type app struct {
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer
	modelFlag      string
	storeFlag      string
	printErr       atomic.Pointer[error] // the first of printf

	system string   // where agents run, by runtime.GOOS; empty: that of this host
	noted  []string // what was said of charms that lack something

	image imageDoor
	held  []oci.Resolved // images that were resolved
	// built are the packages that charms were built with, by their keys.
	built map[string]*charmbuild.Hold

	elsewhere  bool // there is no agent here, and need be none
	passedOver bool // it was said which machines units don't wait for
	silent     bool // it was said that the agent doesn't answer

	store      store.Store
	controller *state.Controller
	clock      clock.Clock // the store's
}

// defaultModel is the model that there is without anybody having made one.
const defaultModel = "default"

func (a *app) close() {
	for i := range a.held {
		a.held[i].Release()
	}
	for _, hold := range a.built {
		hold.Release()
	}
	if err := a.closeStore(); err != nil {
		fmt.Fprintln(a.stderr, "WARNING", err)
	}
}

func (a *app) closeStore() error {
	if a.store == nil {
		return nil
	}
	s := a.store
	a.store, a.controller = nil, nil
	return s.Close()
}

// dataDirPath is where unitd keeps everything.
func dataDirPath() (string, error) {
	dir := os.Getenv("UNITD_DATA")
	if dir == "" {
		base := os.Getenv("XDG_DATA_HOME")
		if base == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return "", errors.New("cannot tell where to keep data: set HOME or UNITD_DATA")
			}
			base = filepath.Join(home, ".local", "share")
		}
		dir = filepath.Join(base, "unitd")
	}
	dir, err := filepath.Abs(dir)
	return dir, errors.Annotate(err, "cannot find the data directory")
}

// dataDir is where unitd keeps everything; it is made, for its owner alone, if
// it isn't there.
func dataDir() (string, error) {
	dir, err := dataDirPath()
	if err != nil {
		return "", errors.Trace(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", errors.Annotate(err, "cannot make the data directory (UNITD_DATA)")
	}
	return dir, nil
}

// open opens the store.
func (a *app) open() (*state.Controller, error) {
	if a.controller != nil {
		return a.controller, nil
	}
	dir, err := dataDir()
	if err != nil {
		return nil, errors.Trace(err)
	}
	var c clock.Clock = clock.WallClock
	switch now, ok, err := labTime(); {
	case err != nil:
		return nil, err
	case ok:
		c = lab.NewClock(now)
	}
	if err := checkPrivate(dir); err != nil {
		return nil, err
	}
	if err := a.meant(dir); err != nil {
		return nil, err
	}
	s, keys, err := a.openStore(dir, c)
	if err != nil {
		return nil, err
	}
	a.store = s
	controller := state.NewController(a.store, c).WithSealer(sealer(keys)).WithCommand(commandName())
	place, err := a.storeName()
	if err == nil && !strings.HasPrefix(place, etcd.Scheme) {
		controller = controller.WithOneHost()
	}
	a.controller, a.clock = controller, c
	return controller, errors.Trace(err)
}

// errNoModel marks that there are several models and none was chosen.
const errNoModel = errors.ConstError("no model in focus")

// model opens the model that the command is about: that of --model, of the
// environment, the current one, or the default one, which is made if there is
// no such.
func (a *app) model() (*state.Model, error) {
	c, err := a.open()
	if err != nil {
		return nil, errors.Trace(err)
	}
	infos, err := c.Models(a.ctx)
	if err != nil {
		return nil, errors.Trace(err)
	}
	name, err := a.focus(infos)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if name == "" {
		return nil, errors.WithType(
			errors.New(`No model in focus: choose one with "unitd switch MODEL" or --model; "unitd models" lists them`), errNoModel)
	}
	m, err := c.Model(a.ctx, name)
	if errors.Is(err, errors.NotFound) && name != defaultModel && a.modelNamed() == "" {
		return nil, errors.NewNotFound(nil, err.Error()+`; it is the current one: choose another one with "unitd switch MODEL"`)
	}
	if !errors.Is(err, errors.NotFound) || name != defaultModel {
		return m, errors.Trace(err)
	}
	m, err = c.AddModel(a.ctx, defaultModel)
	if errors.Is(err, errors.AlreadyExists) {
		return c.Model(a.ctx, defaultModel) // another command was faster
	}
	return m, errors.Trace(err)
}

// focus is the name of the model that a command is about, of those that there
// are: the one that was chosen, that which this host has joined, the default
// one, or the only one. It is empty where nobody can tell.
func (a *app) focus(infos []state.ModelInfo) (string, error) {
	name, err := a.modelName()
	if err != nil || name != "" {
		return name, errors.Trace(err)
	}
	dir, err := dataDir()
	if err != nil {
		return "", errors.Trace(err)
	}
	if r, err := readJoin(dir); err != nil || r != nil {
		for _, info := range infos {
			if err == nil && info.UUID == r.Model {
				return info.Name, nil
			}
		}
		return "", errors.Trace(err)
	}
	switch len(infos) {
	case 0:
		return defaultModel, nil
	case 1:
		return infos[0].Name, nil
	}
	for _, info := range infos {
		if info.Name == defaultModel {
			return defaultModel, nil
		}
	}
	return "", nil
}

// modelName is the name of the model that was chosen; empty if none was. A
// reference may name the controller and the owner, of whom there is one each:
// "[controller:][owner/]model".
func (a *app) modelName() (string, error) {
	if ref := a.modelNamed(); ref != "" {
		return modelRef(ref)
	}
	return a.currentModel()
}

// modelNamed is the reference by which this command, or its environment, names
// the model; empty if neither does.
func (a *app) modelNamed() string {
	return cmp.Or(a.modelFlag, os.Getenv("UNITD_MODEL"), os.Getenv("JUJU_MODEL"))
}

// modelRef is the name of the model that a reference is to. The error is
// NotFound for a controller or an owner that there isn't.
func modelRef(ref string) (string, error) {
	controller, rest, named := strings.Cut(ref, ":")
	if !named {
		controller, rest = "", ref
	}
	owner, name, owned := strings.Cut(rest, "/")
	if !owned {
		owner, name = render.UserName, rest
	}
	switch {
	case !model.ValidModelName(name):
		return "", usagef("%q is not a valid name: model names may only contain lowercase letters, digits and hyphens", name)
	case controller != "" && controller != render.ControllerName:
		return "", errors.NewNotFound(nil, fmt.Sprintf("controller %s not found: the only one here is %s", controller, render.ControllerName))
	case owner != render.UserName:
		return "", errors.NewNotFound(nil, fmt.Sprintf("model %s:%s/%s not found: all models here are those of %s", render.ControllerName, owner, name, render.UserName))
	}
	return name, nil
}

func currentModelPath() (string, error) {
	dir, err := dataDir()
	return filepath.Join(dir, "current-model"), errors.Trace(err)
}

func (a *app) currentModel() (string, error) {
	path, err := currentModelPath()
	if err != nil {
		return "", errors.Trace(err)
	}
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return "", nil
	}
	return strings.TrimSpace(string(b)), errors.Annotate(err, "cannot tell which model is the current one")
}

func setCurrentModel(name string) error {
	path, err := currentModelPath()
	if err != nil {
		return errors.Trace(err)
	}
	if name == "" {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return errors.Trace(err)
		}
		return nil
	}
	temp := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(temp, []byte(name+"\n"), 0o600); err != nil {
		return errors.Annotate(err, "cannot remember the current model")
	}
	return errors.Annotate(os.Rename(temp, path), "cannot remember the current model")
}

// printf prints a part of the result. That it can't is the command's error in
// the end.
func (a *app) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(a.stdout, format, args...); err != nil {
		err = errors.Annotate(err, "cannot print the result")
		a.printErr.CompareAndSwap(nil, &err)
	}
}

// printer prints what a library writes as a part of the result.
type printer struct{ *app }

// Write is part of io.Writer.
func (p printer) Write(b []byte) (int, error) {
	p.printf("%s", b)
	return len(b), nil
}

// note tells a person something beside the result.
func (a *app) note(format string, args ...any) { fmt.Fprintf(a.stderr, format+"\n", args...) }

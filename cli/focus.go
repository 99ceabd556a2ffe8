package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// focus is the model that a command is about, in the store that the agent of this host
// works on.
type focus struct {
	*agent.Host
	flag string // what --model says
}

// defaultModel is the model that there is without anybody having made one.
const defaultModel = "default"

// errNoModel marks that there are several models and none was chosen.
const errNoModel = errors.ConstError("no model in focus")

// model opens the model that the command is about: that of --model, of the
// environment, the current one, or the default one, which is made if there is
// no such.
func (f *focus) model() (*state.Model, error) {
	c, err := f.Open()
	if err != nil {
		return nil, errors.Trace(err)
	}
	infos, err := c.Models(f.Context())
	if err != nil {
		return nil, errors.Trace(err)
	}
	name, err := f.inFocus(infos)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if name == "" {
		return nil, errors.WithType(
			errors.New(`No model in focus: choose one with "unitd switch MODEL" or --model; "unitd models" lists them`), errNoModel)
	}
	m, err := c.Among(infos, name)
	if errors.Is(err, errors.NotFound) && name != defaultModel && f.modelNamed() == "" {
		return nil, errors.NewNotFound(nil, err.Error()+`; it is the current one: choose another one with "unitd switch MODEL"`)
	}
	if !errors.Is(err, errors.NotFound) || name != defaultModel {
		return m, errors.Trace(err)
	}
	m, err = c.AddModel(f.Context(), defaultModel)
	if errors.Is(err, errors.AlreadyExists) {
		return c.Model(f.Context(), defaultModel) // another command was faster
	}
	return m, errors.Trace(err)
}

// inFocus is the name of the model that a command is about, of those that there
// are: the one that was chosen, that which this host has joined, the default
// one, or the only one. It is empty where nobody can tell.
func (f *focus) inFocus(infos []state.ModelInfo) (string, error) {
	name, err := f.modelName()
	if err != nil || name != "" {
		return name, errors.Trace(err)
	}
	return unchosen(infos)
}

// unchosen is inFocus where none was chosen.
func unchosen(infos []state.ModelInfo) (string, error) {
	dir, err := agent.DataDir()
	if err != nil {
		return "", errors.Trace(err)
	}
	if r, err := agent.ReadJoin(dir); err != nil || r != nil {
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
// reference may name the controller, which begin has chosen, and the owner, of whom
// there is one:
// "[controller:][owner/]model".
func (f *focus) modelName() (string, error) {
	if ref := f.modelNamed(); ref != "" {
		return modelRef(ref)
	}
	return f.currentModel()
}

// modelNamed is the reference by which this command, or its environment, names
// the model; empty if neither does.
func (f *focus) modelNamed() string {
	return cmp.Or(f.flag, os.Getenv("UNITD_MODEL"), os.Getenv("JUJU_MODEL"))
}

// modelRef is the name of the model that a reference is to. The error is
// NotFound for a controller or an owner that there isn't.
func modelRef(ref string) (string, error) {
	here, err := agent.Controller()
	if err != nil {
		return "", errors.Trace(err)
	}
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
		return "", Usagef("%q is not a valid name: model names may only contain lowercase letters, digits and hyphens", name)
	case controller != "" && controller != here.Name:
		if _, err := agent.FindController(controller); err != nil {
			return "", err
		}
		return "", errors.NewNotFound(nil, fmt.Sprintf("model %s is of controller %s, not of %s", ref, controller, here.Name))
	case owner != render.UserName:
		return "", errors.NewNotFound(nil, fmt.Sprintf("model %s:%s/%s not found: all models here are those of %s", here.Name, owner, name, render.UserName))
	}
	return name, nil
}

func currentModelPath() (string, error) {
	dir, err := agent.DataDir()
	return filepath.Join(dir, "current-model"), errors.Trace(err)
}

func (f *focus) currentModel() (string, error) {
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

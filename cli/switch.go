package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

func (a modelVerbs) switchCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "switch [MODEL | CONTROLLER | CONTROLLER:MODEL]",
		Short: "Make a model or a controller the current one, or name the current one",
		Long: `Make a model, or a controller with the model that is the current one there, the
current one; without an argument, name it. A name that both have is the controller's:
":NAME" is the model of that name.`,
		Example:           "  unitd switch staging\n  unitd switch spare:web\n  unitd switch",
		Args:              Args(0, 1, ""),
		ValidArgsFunction: a.completeModels,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.nameCurrent()
			}
			return a.switchTo(args[0])
		},
	}
}

// nameCurrent prints what the current model is.
func (a modelVerbs) nameCurrent() error {
	m, err := a.model()
	if err != nil {
		return err
	}
	a.printf("%s\n", fullName(a.Opened(), m.Name()))
	return nil
}

// fullName is a model with its controller and owner, or the controller alone.
func fullName(c *state.Controller, model string) string {
	if model == "" {
		return c.Name() + " (controller)"
	}
	return c.Name() + ":" + render.UserName + "/" + model
}

func (a modelVerbs) switchTo(target string) error {
	for _, name := range []string{"UNITD_MODEL", "JUJU_MODEL", "UNITD_CONTROLLER", "JUJU_CONTROLLER"} {
		if v := os.Getenv(name); v != "" {
			return errors.Errorf("cannot switch when %s is overriding the model (set to %q)", name, v)
		}
	}
	old, err := a.focused()
	if err != nil {
		return err
	}
	controller, ref, named := strings.Cut(target, ":")
	if _, err := agent.FindController(controller); err == nil && (!named || ref == "") && controller != "" {
		ref, named = "", true
	} else if !named {
		controller, ref = "", target
	}
	if err := a.follow(controller + ":"); err != nil {
		return err
	}
	if ref != "" {
		if err := a.switchModel(target, ref); err != nil {
			return err
		}
	}
	here, err := agent.Controller()
	if err != nil {
		return err
	}
	if err := agent.ChooseController(here.Name); err != nil {
		return err
	}
	now, err := a.focused()
	if err != nil {
		return err
	}
	if old == now {
		a.Note("%s (no change)", now)
	} else {
		a.Note("%s -> %s", old, now)
	}
	return nil
}

// focused is the full name of what is in focus.
func (a modelVerbs) focused() (string, error) {
	c, err := a.Open()
	if err != nil {
		return "", err
	}
	infos, err := c.Models(a.Context())
	if err != nil {
		return "", err
	}
	name, err := a.inFocus(infos)
	return fullName(c, name), err
}

// switchModel makes a model of the controller that the command works on the current one
// there; target is how a person has named it.
func (a modelVerbs) switchModel(target, ref string) error {
	name, err := modelRef(ref)
	if err != nil {
		return err
	}
	c, err := a.Open()
	if err != nil {
		return err
	}
	infos, err := c.Models(a.Context())
	if err != nil {
		return err
	}
	known := name == defaultModel && len(infos) == 0
	if !known && !slices.ContainsFunc(infos, func(info state.ModelInfo) bool { return info.Name == name }) {
		return errors.NewNotFound(nil, fmt.Sprintf("%q is not the name of a model or controller", target))
	}
	return setCurrentModel(name)
}

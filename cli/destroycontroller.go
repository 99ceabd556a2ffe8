package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// destroyControllerFlags are the flags of destroy-controller.
type destroyControllerFlags struct {
	destroyFlags
	allModels bool
}

func (a controllerVerbs) destroyControllerCmd() *cobra.Command {
	var f destroyControllerFlags
	cmd := &cobra.Command{
		Use:   "destroy-controller CONTROLLER",
		Short: "Remove a controller that bootstrap has made",
		Long: `Remove a controller: its models as destroy-model does, its agent, and its data
directory. What is released of storage is kept in this host's own data directory.`,
		Example: "  unitd destroy-controller spare\n  unitd destroy-controller spare --no-prompt --destroy-all-models --destroy-storage",
		Args:    Args(1, 1, "no controller specified"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.destroyStorage && f.releaseStorage:
				return Usagef("--destroy-storage and --release-storage cannot both be specified")
			case cmd.Flags().Changed("model-timeout") && !f.force:
				return Usagef("--model-timeout can only be used with --force (dangerous)")
			case f.noWait && !f.force:
				return Usagef("--no-wait without --force not valid")
			}
			return a.destroyController(args[0], f)
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&f.noPrompt, "no-prompt", false, "do not ask")
	fs.BoolVar(&f.allModels, "destroy-all-models", false, "remove all models with all that is in them")
	fs.BoolVar(&f.destroyStorage, "destroy-storage", false, "remove the units' storage too")
	fs.BoolVar(&f.releaseStorage, "release-storage", false, "keep what is in the units' storage on this machine")
	fs.BoolVar(&f.force, "force", false, "run no hook and wait for nothing")
	fs.BoolVar(&f.noWait, "no-wait", false, "with --force: the same as --force alone")
	fs.DurationVar(&f.timeout, "model-timeout", 0, "with --force: give up on a model after this long (0: never)")
	return cmd
}

func (a controllerVerbs) killControllerCmd() *cobra.Command {
	f := destroyControllerFlags{allModels: true}
	f.force, f.destroyStorage = true, true
	cmd := &cobra.Command{
		Use:     "kill-controller CONTROLLER",
		Short:   "Remove a controller that bootstrap has made, running no hook",
		Long:    "Remove a controller with all its models and their storage. No hook of their units runs.",
		Example: "  unitd kill-controller spare --no-prompt",
		Args:    Args(1, 1, "no controller specified"),
		RunE:    func(_ *cobra.Command, args []string) error { return a.destroyController(args[0], f) },
	}
	cmd.Flags().BoolVar(&f.noPrompt, "no-prompt", false, "do not ask")
	cmd.Flags().DurationVarP(&f.timeout, "timeout", "t", 5*time.Minute, "give up on a model after this long")
	return cmd
}

func (a controllerVerbs) destroyController(name string, f destroyControllerFlags) error {
	r, err := agent.FindController(name)
	if err != nil {
		return err
	}
	if r.Name == agent.OwnController {
		return errors.Errorf("%q is this host's own store", name)
	}
	if err := a.WorkOn(name); err != nil {
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
	if len(infos) > 0 && !f.allModels {
		return hasModels(name, infos)
	}
	for _, info := range infos { // one that refuses must not leave the others destroyed
		if err := c.Open(info).CheckDestroy(a.Context(), f.storageFate()); ignore(err, errors.NotFound) != nil {
			return err
		}
	}
	if !f.noPrompt {
		if err := a.confirm("controller", name, "all its models"); err != nil {
			return err
		}
	}
	a.Note("Destroying controller")
	if err := a.destroyAll(c, infos, f.destroyFlags); err != nil {
		return err
	}
	if pid, err := agent.Running(); err != nil || pid != 0 {
		if err == nil {
			err = a.Shutdown(agent.ShutdownTime)
		}
		if err != nil {
			return err
		}
	}
	a.Note("All models reclaimed, cleaning up controller machines")
	return a.RemoveController(r)
}

// destroyAll removes the models, and waits until they are gone.
func (a controllerVerbs) destroyAll(c *state.Controller, infos []state.ModelInfo, f destroyFlags) error {
	for _, info := range infos {
		if err := a.destroyWithStorage(c.Open(info), f); err != nil && !errors.Is(err, errors.NotFound) {
			return err
		}
	}
	if len(infos) > 0 {
		a.Note("Waiting for model resources to be reclaimed")
	}
	for _, info := range infos {
		if err := a.waitUntilGone(c, c.Open(info), f.timeout); err != nil {
			return err
		}
	}
	return nil
}

// hasModels is the error of a controller that has models.
func hasModels(name string, infos []state.ModelInfo) error {
	var b strings.Builder
	fmt.Fprintf(&b, "cannot destroy controller %q\n\nIt has models: with --destroy-all-models they are removed with all that is in them.\n\nModels:", name)
	for _, info := range infos {
		fmt.Fprintf(&b, "\n\t%s/%s (%s)", render.UserName, info.Name, info.Life)
	}
	return errors.New(b.String())
}

package cli

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// modelVerbs are about models as a whole.
type modelVerbs struct {
	base
	appVerbs
	storageVerbs
	waiting
}

func (a modelVerbs) addModelCmd() *cobra.Command {
	var noSwitch bool
	var config []string
	var ignored string
	cmd := &cobra.Command{
		Use:   "add-model MODEL [CLOUD]",
		Short: "Make an empty model and make it the current one",
		Long: `Make an empty model and make it the current one. With the name of a Kubernetes
cloud (k8s, microk8s…) it takes container charms alone; any other takes both kinds.`,
		Example: "  unitd add-model staging\n  unitd add-model web microk8s\n  unitd add-model test --no-switch --config update-status-hook-interval=10s",
		Args:    Args(1, 2, "no model name specified"),
		RunE: func(_ *cobra.Command, args []string) error {
			kind, here := state.IAAS, true
			if len(args) == 2 {
				var err error
				if kind, here, err = a.cloudOf(args[1]); err != nil {
					return err
				}
			}
			if err := a.addModel(args[0], kind, config, noSwitch); err != nil {
				return err
			}
			if !here {
				a.Note("The model is on this host: the cloud %q has no effect here.", args[1])
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&noSwitch, "no-switch", false, "leave the current model the current one")
	cmd.Flags().StringArrayVar(&config, "config", nil, "key=value of the model's configuration, or a YAML file; may be repeated")
	for _, name := range []string{"credential", "owner"} {
		cmd.Flags().StringVar(&ignored, name, "", "noted: all is on this machine")
	}
	return cmd
}

// cloudOf is the kind of models that a cloud has, "NAME" or "NAME/REGION", and whether it
// is another name for this host. The error is NotFound for one that nobody knows.
// Source: docs/spec/juju-clients.md §4.2.
func (a modelVerbs) cloudOf(word string) (kind state.ModelType, here bool, err error) {
	name, _, _ := strings.Cut(word, "/")
	switch {
	case kubernetesCloud(name):
		return state.CAAS, true, nil
	case slices.Contains(hostClouds(), name) || name == render.RegionName:
		return state.IAAS, true, nil
	}
	clouds := model.KnownClouds()
	records, err := agent.ReadClient()
	if err != nil {
		return "", false, err
	}
	maps.Copy(clouds, records.Clouds)
	c, err := a.Open()
	if err != nil {
		return "", false, err
	}
	doc, err := c.Recorded(a.Context())
	if err != nil {
		return "", false, err
	}
	maps.Copy(clouds, doc.Clouds)
	cloud, known := clouds[name]
	switch {
	case !known:
		return "", false, errors.NewNotFound(nil, fmt.Sprintf("cloud %q not found: \"unitd clouds --all\" shows those that there are", name))
	case cloud.Type == "kubernetes" || cloud.Type == "k8s":
		return state.CAAS, false, nil
	}
	return state.IAAS, false, nil
}

func (a modelVerbs) addModel(name string, kind state.ModelType, config []string, noSwitch bool) error {
	if !model.ValidModelName(name) {
		return Usagef("%q is not a valid name: model names may only contain lowercase letters, digits and hyphens", name)
	}
	set, err := configArgs(name, config)
	if err != nil {
		return err
	}
	if err := state.CheckModelConfig(set); err != nil {
		return err
	}
	c, err := a.Open()
	if err != nil {
		return err
	}
	m, err := c.AddModelOf(a.Context(), name, kind)
	if err != nil {
		return err
	}
	if len(set) > 0 {
		if err := m.SetModelConfig(a.Context(), set, nil); err != nil {
			return err
		}
	}
	a.Note("Added %q model on %s for user 'admin'", name, render.CloudRegion(kind))
	if noSwitch {
		return nil
	}
	return setCurrentModel(name)
}

// destroyFlags are the flags of destroy-model.
type destroyFlags struct {
	noPrompt, force, noWait        bool
	destroyStorage, releaseStorage bool
	timeout                        time.Duration
}

func (a modelVerbs) destroyModelCmd() *cobra.Command {
	var f destroyFlags
	cmd := &cobra.Command{
		Use:   "destroy-model MODEL",
		Short: "Remove a model with all that is in it",
		Long: `Remove a model: every unit leaves its relations, runs stop and remove, and is
gone; then the model is. It waits until that is so. A unit in error holds it up
until it is resolved; --force runs no hook and waits for nothing.`,
		Example:           "  unitd destroy-model staging\n  unitd destroy-model staging --no-prompt --force",
		Args:              Args(1, 1, "no model specified"),
		ValidArgsFunction: a.completeModels,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.destroyModel(args[0], f)
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&f.noPrompt, "no-prompt", false, "do not ask")
	fs.BoolVar(&f.force, "force", false, "run no hook and wait for nothing")
	fs.BoolVar(&f.noWait, "no-wait", false, "with --force: the same as --force alone")
	fs.BoolVar(&f.destroyStorage, "destroy-storage", false, "remove the units' storage too")
	fs.BoolVar(&f.releaseStorage, "release-storage", false, "leave what is in the units' storage on this machine")
	fs.DurationVarP(&f.timeout, "timeout", "t", 0, "give up waiting after this long (0: never)")
	return cmd
}

func (a modelVerbs) destroyModel(ref string, f destroyFlags) error {
	if err := a.follow(ref); err != nil {
		return err
	}
	name, err := modelRef(ref)
	if err != nil {
		return err
	}
	switch {
	case f.noWait && !f.force:
		return Usagef("--no-wait without --force not valid")
	case f.destroyStorage && f.releaseStorage:
		return Usagef("--destroy-storage and --release-storage cannot both be specified")
	}
	c, err := a.Open()
	if err != nil {
		return err
	}
	m, err := c.Model(a.Context(), name)
	if err != nil {
		return err
	}
	if !f.noPrompt {
		if err := a.confirm("model", name, "all its applications and units"); err != nil {
			return err
		}
	}
	if err := a.destroyWithStorage(m, f); err != nil {
		return err
	}
	later, err := a.goesLater(m)
	if err != nil || later {
		return err
	}
	if err := a.waitUntilGone(c, m, f.timeout); err != nil {
		return err
	}
	if current, err := a.currentModel(); err == nil && current == name {
		return setCurrentModel("")
	}
	return nil
}

// goesLater says whether the model goes only when this command has ended: in the world of
// a script, where the agent stands still meanwhile. It stays the current one until then.
func (a modelVerbs) goesLater(m *state.Model) (bool, error) {
	if _, inLab, err := agent.LabTime(); err != nil || !inLab {
		return false, err
	}
	gone, err := m.RemoveIfEmpty(a.Context())
	if err != nil || gone {
		return false, err
	}
	a.Note("model %q goes when the script settles", m.Name())
	return true, nil
}

// confirm has a person type the name of a model, or of a controller, that is to be
// destroyed with all of that.
func (a modelVerbs) confirm(kind, name, all string) error {
	a.Note("WARNING! This command will destroy the %s %q with %s.", kind, name, all)
	fmt.Fprintf(a.Err, "To continue, enter the name of the %s: ", kind)
	line, err := bufio.NewReader(a.In).ReadString('\n')
	if err != nil && line == "" {
		a.Note("")
		return errors.New("nobody has confirmed it: give --no-prompt in scripts")
	}
	if strings.TrimSpace(line) != name {
		return errors.Errorf("aborted: that is not the name of the %s", kind)
	}
	return nil
}

// waitUntilGone waits until an agent, or with force this command, has taken
// the model away.
func (a modelVerbs) waitUntilGone(c *state.Controller, m *state.Model, timeout time.Duration) error {
	ctx, cancel := context.WithCancel(a.Context())
	defer cancel()
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	changes, err := m.Watch(ctx, 0)
	if err != nil {
		return err
	}
	models, err := c.Watch(ctx, 0)
	if err != nil {
		return err
	}
	if gone, err := m.RemoveIfEmpty(a.Context()); err != nil || gone {
		return err
	}
	if err := a.Ensure(); err != nil {
		return err
	}
	w := newAwaited(m)
	wake(w, changes)
	wake(w, models)
	told := map[string]bool{}
	err = a.await(ctx, w, nil, func() (bool, error) {
		if _, err := m.Info(ctx); err != nil {
			return errors.Is(err, errors.NotFound), ignore(err, errors.NotFound)
		}
		return false, a.tellFailed(m, told)
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errors.Errorf("model %q is not gone after %s; it is still being destroyed", m.Name(), timeout)
	case errors.Is(err, errAgentEnded):
		return fmt.Errorf("%w, and model %q is still being destroyed: \"unitd destroy-model %[2]s\" goes on with it", err, m.Name())
	}
	return err
}

// tellFailed tells of units in error that a model is held up by, each once.
func (a modelVerbs) tellFailed(m *state.Model, told map[string]bool) error {
	s, err := a.See(m)
	if err != nil {
		return ignore(err, errors.NotFound) // it has gone meanwhile
	}
	statusWithAuthors(s, a.sources(m))
	for _, trouble := range s.Troubles() {
		text := fmt.Sprintf("%s: %s", trouble.Unit, trouble.Text)
		if trouble.Kind == state.InError && !told[text] {
			told[text] = true
			a.Note("%s: use \"unitd resolved -m %s\" on it, or --force", text, m.Name())
		}
	}
	return nil
}

// ignore is an error unless it is of that kind.
func ignore(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}

func (a modelVerbs) modelsCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:     "models",
		Aliases: []string{"list-models"},
		Short:   "List the models",
		Example: "  unitd models\n  unitd models --format json",
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			return a.models(format, output)
		},
	}
	cmd.Flags().StringVar(&format, "format", "tabular", "output format: tabular, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "tabular", "json", "yaml")
	return cmd
}

func (a modelVerbs) models(format, output string) error {
	c, err := a.Open()
	if err != nil {
		return err
	}
	infos, err := c.Models(a.Context())
	if err != nil {
		return err
	}
	current, err := a.inFocus(infos)
	if err != nil {
		return err
	}
	rows := [][]render.Cell{render.Heads("Model", "Cloud/Region", "Type", "Status", "Machines", "Units", "Access", "Last connection")}
	rows[0][4].Right, rows[0][5].Right = true, true
	list := []any{}
	for _, info := range infos {
		s, err := c.Open(info).Status(a.Context())
		if errors.Is(err, errors.NotFound) {
			continue // gone meanwhile
		}
		if err != nil {
			return err
		}
		units := 0
		for _, app := range s.Applications {
			units += len(app.Units)
		}
		status, name := render.ModelStatus(info), render.Cell{Text: info.Name}
		if info.Name == current {
			name = render.Cell{Text: info.Name + "*", Colour: render.Green}
		}
		rows = append(rows, []render.Cell{
			name, {Text: render.CloudRegion(info.Type)}, {Text: render.ProviderName(render.ShownType(info, s.Applications))}, render.StatusCell(status),
			{Text: strconv.Itoa(len(s.Machines)), Right: true}, {Text: strconv.Itoa(units), Right: true},
			{Text: render.UserName}, {Text: render.JustNow},
		})
		list = append(list, map[string]any{
			"name": render.UserName + "/" + info.Name, "short-name": info.Name, "model-uuid": info.UUID, "model-type": render.TypeName(render.ShownType(info, s.Applications)),
			"controller-name": c.Name(), "owner": render.UserName, "cloud": render.CloudName(info.Type), "region": render.RegionName, "type": render.ProviderName(render.ShownType(info, s.Applications)),
			"access": render.UserName, "last-connection": render.JustNow, "agent-version": hooks.Version,
			"life": info.Life.String(), "status": map[string]any{"current": status, "since": info.Created.UTC().Format(time.DateOnly)},
			"unit-count": units, "is-controller": false,
		})
	}
	if format != "tabular" {
		return a.write(format, output, map[string]any{"models": list, "current-model": current})
	}
	return a.table(output, [][]render.Cell{{{Text: "Controller: " + c.Name()}}}, rows)
}

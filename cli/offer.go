package cli

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// offerVerbs are about offers: what applications of one model are for those of others.
type offerVerbs struct{ removals }

// modelOf is the model of that name, in words for who has named an offer of it.
func (a base) modelOf(name string) (*state.Model, error) {
	c, err := a.Open()
	if err != nil {
		return nil, err
	}
	m, err := c.Model(a.Context(), name)
	if errors.Is(err, errors.NotFound) {
		err = errors.NewNotFound(nil, fmt.Sprintf("model %q not found", render.UserName+"/"+name))
	}
	return m, err
}

// offerURL reads an offer's URL, with the controller and the owner that there are filled in.
func (a base) offerURL(text string) (model.OfferURL, error) {
	u, err := model.ParseOfferURL(text)
	if err != nil {
		return u, err
	}
	if _, err := modelRef(u.Controller + ":" + ownerOr(u.Owner) + "/" + u.Model); err != nil {
		return u, err
	}
	here, err := agent.Controller()
	u.Controller, u.Owner = here.Name, ownerOr(u.Owner)
	return u, errors.Trace(err)
}

func ownerOr(owner string) string {
	if owner == "" {
		return render.UserName
	}
	return owner
}

func (a offerVerbs) offerCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "offer [MODEL.]APPLICATION:ENDPOINT[,ENDPOINT…] [NAME]",
		Short: "Offer endpoints of an application to other models",
		Long: `Offer endpoints of an application to applications of other models of the same store, by a
name; without one, by the application's. Offering a name again replaces what it was.`,
		Example: "  unitd offer ledger:db\n  unitd offer harbour.ledger:db,audit ledgerdb",
		Args:    Args(1, 2, "an offer must at least specify application endpoint"),
		RunE: func(_ *cobra.Command, args []string) error {
			name := ""
			if len(args) == 2 {
				name = args[1]
			}
			return a.offer(args[0], name)
		},
	}
	return cmd
}

// offer offers what "[[owner/]model.]application:endpoint,…" says. Source:
// docs/spec/juju-clients.md §11.2.
func (a offerVerbs) offer(what, name string) error {
	application, list, ok := strings.Cut(what, ":")
	switch {
	case !ok:
		return errors.New(`endpoints must conform to format "<application-name>:<endpoint-name>[,...]" `)
	case list == "":
		return errors.New(`specify endpoints for ` + application + `" `)
	}
	var m *state.Model
	var err error
	if ref, app, named := strings.Cut(application, "."); named {
		var of string
		if of, err = modelRef(ref); err == nil {
			m, err = a.modelOf(of)
		}
		application = app
	} else {
		m, err = a.model()
	}
	if err != nil {
		return err
	}
	endpoints := strings.Split(list, ",")
	o, err := m.Offer(a.Context(), application, endpoints, name)
	if err != nil {
		return err
	}
	a.Note("Application %q endpoints [%s] available at %q", application, strings.Join(endpoints, ", "), render.Offer{OfferView: state.OfferView{OfferDoc: o}, Model: m.Name()}.Path())
	return nil
}

func (a offerVerbs) removeOfferCmd() *cobra.Command {
	var force, yes bool
	cmd := &cobra.Command{
		Use:   "remove-offer URL|NAME…",
		Short: "Take offers back",
		Long: `Take offers back. One that is in use is refused; with --force its relations are removed, with
their departed and broken hooks, and whoever has consumed it sees that it is gone.`,
		Example: "  unitd remove-offer ledgerdb\n  unitd remove-offer admin/harbour.ledgerdb --force --yes",
		Args:    Args(1, -1, "no offers specified"),
		RunE:    func(_ *cobra.Command, args []string) error { return a.removeOffers(args, force, yes) },
	}
	cmd.Flags().BoolVar(&force, "force", false, "remove the relations too")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func (a offerVerbs) removeOffers(args []string, force, yes bool) error {
	var with []string
	for _, arg := range args {
		if u, err := model.ParseOfferURL(arg); err == nil && u.Endpoint != "" || !model.IsOfferURL(arg) && strings.Contains(arg, ":") {
			with = append(with, " -"+arg)
		}
	}
	if len(with) > 0 {
		return errors.New("These offers contain endpoints. Only specify the offer name itself.\n" + strings.Join(with, "\n"))
	}
	if err := sameController(args); err != nil {
		return err
	}
	if force && !yes {
		fmt.Fprintf(a.Err, "WARNING! This command will remove offers: %s\nThis includes all relations to those offers.\n\nContinue [y/N]? ", strings.Join(args, ", "))
		answer, _ := bufio.NewReader(a.In).ReadString('\n')
		if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
			return errors.New("aborted: nothing was removed")
		}
	}
	done, failed := 0, 0
	for _, arg := range args {
		m, name, err := a.offered(arg)
		if err == nil {
			err = m.RemoveOffer(a.Context(), name, force)
		}
		if err != nil {
			failed++
			a.failure(err)
			continue
		}
		done++
	}
	return a.afterEach(done, failed)
}

// followOffer has the command work on the controller that the URL of an offer, or a part
// of one, names.
func (a offerVerbs) followOffer(url string) error {
	if of, _, _ := strings.Cut(url, ":"); strings.ContainsAny(of, "./") {
		return nil // what follows is an endpoint
	}
	return a.follow(url)
}

// sameController is the error of offers of several controllers: a command works on one.
func sameController(refs []string) error {
	here, err := agent.Controller()
	if err != nil {
		return errors.Trace(err)
	}
	first := ""
	for _, ref := range refs {
		of := here.Name
		if u, err := model.ParseOfferURL(ref); err == nil && model.IsOfferURL(ref) && u.Controller != "" {
			of = u.Controller
		}
		if first != "" && of != first {
			return errors.New("all offer URLs must use the same controller")
		}
		first = of
	}
	return nil
}

// offered is the model of an offer, which is given by its URL or, of the model in focus, by
// its name.
func (a offerVerbs) offered(ref string) (m *state.Model, name string, err error) {
	if !model.IsOfferURL(ref) {
		m, err = a.model()
		return m, ref, err
	}
	if err := a.followOffer(ref); err != nil {
		return nil, "", err
	}
	u, err := a.offerURL(ref)
	if err != nil {
		return nil, "", err
	}
	m, err = a.modelOf(u.Model)
	return m, u.Offer, err
}

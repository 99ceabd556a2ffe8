package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// offerFilter says which offers are listed.
type offerFilter struct {
	application, iface, connected, consumer string
	active                                  bool
}

func (f offerFilter) matches(o render.Offer) bool {
	switch {
	case f.application != "" && f.application != o.Application:
		return false
	case f.iface != "" && !offersInterface(o, f.iface):
		return false
	case f.active && len(o.Connections) == 0:
		return false
	case f.connected != "" && (f.connected != render.UserName || len(o.Connections) == 0):
		return false
	case f.consumer != "" && o.Access[f.consumer] == "":
		return false
	}
	return true
}

func offersInterface(o render.Offer, iface string) bool {
	return slices.ContainsFunc(o.Endpoints, func(e model.Endpoint) bool { return e.Interface == iface })
}

// listedOffers are the offers of a model, by name.
func (a offerVerbs) listedOffers(m *state.Model) ([]render.Offer, error) {
	here, err := agent.Controller()
	if err != nil {
		return nil, errors.Trace(err)
	}
	all, err := m.Offers(a.Context())
	var offers []render.Offer
	for _, o := range all {
		offers = append(offers, render.Offer{OfferView: o, Model: m.Name(), Controller: here.Name})
	}
	return offers, err
}

func (a offerVerbs) offersCmd() *cobra.Command {
	var f offerFilter
	var format, output string
	cmd := &cobra.Command{
		Use:     "offers [NAME]",
		Aliases: []string{"list-offers"},
		Short:   "List the model's offers, and who has consumed them",
		Example: "  unitd offers\n  unitd offers --interface kv --format json",
		Args:    Args(0, 1, ""),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			offers, err := a.listedOffers(m)
			if err != nil {
				return err
			}
			offers = slices.DeleteFunc(offers, func(o render.Offer) bool { return !f.matches(o) || len(args) == 1 && args[0] != o.Name })
			switch format {
			case "tabular":
				return a.table(output, render.OfferConnections(offers))
			case "summary":
				return a.table(output, render.OfferSummaries(offers))
			}
			return a.write(format, output, render.OffersTree(offers, time.Now()))
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.application, "application", "", "only those of this application")
	fs.StringVar(&f.iface, "interface", "", "only those with an endpoint of this interface")
	fs.StringVar(&f.consumer, "allowed-consumer", "", "only those that this user may consume")
	fs.StringVar(&f.connected, "connected-user", "", "only those that this user has consumed")
	fs.BoolVar(&f.active, "active-only", false, "only those in use")
	fs.StringVar(&format, "format", "tabular", "output format: tabular, summary, json or yaml")
	fs.StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "tabular", "summary", "json", "yaml")
	return cmd
}

func (a offerVerbs) findOffersCmd() *cobra.Command {
	var url, iface, name, format, output string
	cmd := &cobra.Command{
		Use:   "find-offers [URL]",
		Short: "Find offers of all models",
		Long: `Find offers. Without arguments it looks at all models of the store; a URL, or a part of one,
names a model, an offer of it, or both.`,
		Example: "  unitd find-offers\n  unitd find-offers admin/harbour --interface kv",
		Args:    Args(0, 1, ""),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				if url != "" {
					return Usagef("URL term cannot be specified twice")
				}
				url = args[0]
			}
			if url != "" && name != "" {
				return Usagef("cannot specify both a URL term and offer term")
			}
			offers, err := a.foundOffers(url)
			if err != nil {
				return err
			}
			offers = slices.DeleteFunc(offers, func(o render.Offer) bool {
				return iface != "" && !offersInterface(o, iface) || name != "" && !strings.Contains(o.Name, name)
			})
			if len(offers) == 0 {
				return errors.New("no matching application offers found")
			}
			if format == "tabular" {
				return a.table(output, render.FoundOffers(offers))
			}
			return a.write(format, output, render.FoundTree(offers, false))
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&url, "url", "", "the URL, or a part of it")
	fs.StringVar(&iface, "interface", "", "only those with an endpoint of this interface")
	fs.StringVar(&name, "offer", "", "only those with this in their name")
	fs.StringVar(&format, "format", "tabular", "output format: tabular, json or yaml")
	fs.StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "tabular", "json", "yaml")
	return cmd
}

// foundOffers are the offers that a part of a URL names: all of them, those of a controller
// ("unitd:") or of a model ("admin/harbour"), or one ("admin/harbour.ledgerdb").
func (a offerVerbs) foundOffers(part string) ([]render.Offer, error) {
	if err := a.followOffer(part); err != nil {
		return nil, err
	}
	c, err := a.Open()
	if err != nil {
		return nil, err
	}
	named, offer := "", ""
	switch rest := strings.TrimPrefix(part, c.Name()+":"); {
	case rest == "":
	case strings.Contains(rest, "."):
		u, err := a.offerURL(part)
		if err != nil {
			return nil, err
		}
		named, offer = u.Model, u.Offer
	default:
		if named, err = modelRef(part); err != nil {
			return nil, err
		}
	}
	infos, err := c.Models(a.Context())
	if err != nil {
		return nil, err
	}
	var found []render.Offer
	for _, info := range infos {
		if named != "" && info.Name != named {
			continue
		}
		offers, err := a.listedOffers(c.Open(info))
		if err != nil {
			return nil, err
		}
		for _, o := range offers {
			if offer == "" || o.Name == offer {
				found = append(found, o)
			}
		}
	}
	return found, nil
}

func (a offerVerbs) showOfferCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:     "show-offer URL|NAME",
		Short:   "Show an offer with the charm's description",
		Example: "  unitd show-offer admin/harbour.ledgerdb",
		Args:    Args(1, 1, "must specify endpoint URL"),
		RunE: func(_ *cobra.Command, args []string) error {
			m, name, err := a.offered(args[0])
			if err != nil {
				return err
			}
			offers, err := a.listedOffers(m)
			if err != nil {
				return err
			}
			i := slices.IndexFunc(offers, func(o render.Offer) bool { return o.Name == name })
			switch {
			case i < 0:
				return errors.NewNotFound(nil, fmt.Sprintf("application offer %q not found", render.Offer{OfferView: state.OfferView{OfferDoc: state.OfferDoc{Name: name}}, Model: m.Name()}.Path()))
			case format == "tabular":
				return a.table(output, render.ShownOffer(offers[i]))
			}
			return a.write(format, output, render.FoundTree(offers[i:i+1], true))
		},
	}
	cmd.Flags().StringVar(&format, "format", "tabular", "output format: tabular, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "tabular", "json", "yaml")
	return cmd
}

package tools

import (
	"strconv"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

func networkGetTool() Tool {
	return Tool{
		Name:    "network-get",
		Args:    "<binding-name> [--ingress-address] [--bind-address] [--egress-subnets]",
		Summary: "get network config",
		Details: `Prints the network of an endpoint or extra binding: the addresses to listen at,
those that the other side reaches the unit at, and the networks that the unit's
traffic comes from. One of the flags prints just that; several print a map.`,
		make: func(c *hookcontext.Context) command { return &networkGet{ctx: c} },
	}
}

type networkGet struct {
	ctx      *hookcontext.Context
	binding  string
	relation model.RelationID
	bind     bool
	ingress  bool
	egress   bool
	primary  bool
	out      output
}

func (t *networkGet) declare(f *flags) {
	f.BoolVar(&t.bind, "bind-address", false, "Get the address for the binding on which the unit should listen")
	f.BoolVar(&t.ingress, "ingress-address", false, "Get the ingress address for the binding")
	f.BoolVar(&t.egress, "egress-subnets", false, "Get the egress subnets for the binding")
	f.BoolVar(&t.primary, "primary-address", false, "(deprecated) get the primary address for the binding")
	f.declareRelation(&t.relation)
	t.out.declare(f, smart, inYAML, inJSON)
}

func (t *networkGet) parse(args []string) (err error) {
	if len(args) == 0 {
		return errors.New("no arguments specified")
	}
	if args[0] == "" {
		return errors.New("no binding name specified")
	}
	t.binding, err = optional(args)
	return err
}

func (t *networkGet) run(c *call) error {
	network, err := t.ctx.Network(t.binding)
	if err != nil && !errors.Is(err, errors.NotFound) {
		return err
	}
	if len(network.Interfaces) == 0 {
		return errors.NewNotFound(nil, "no network config found for binding "+strconv.Quote(t.binding))
	}
	if t.primary {
		if t.bind || t.ingress || t.egress {
			return errors.New("--primary-address must be the only flag specified")
		}
		t.bind = true
	}
	if !t.bind && !t.ingress && !t.egress {
		return t.out.write(c, networkDetails(network))
	}
	parts, err := t.parts(network)
	if err != nil {
		return err
	}
	if len(parts) == 1 {
		for _, only := range parts {
			return t.out.write(c, only)
		}
	}
	return t.out.write(c, parts)
}

// parts are those of the network that the flags ask for, by their names.
func (t *networkGet) parts(network hookcontext.Network) (map[string]any, error) {
	parts := map[string]any{}
	if t.bind {
		addresses := network.Interfaces[0].Addresses
		if len(addresses) == 0 {
			return nil, errors.New("no addresses attached to space for binding " + strconv.Quote(t.binding))
		}
		parts["bind-address"] = addresses[0].Value
	}
	if t.egress {
		parts["egress-subnets"] = append([]string{}, network.Egress...)
	}
	if t.ingress {
		parts["ingress-address"] = ""
		if len(network.Ingress) > 0 {
			parts["ingress-address"] = network.Ingress[0]
		}
	}
	return parts, nil
}

// What network-get prints. YAML has some values twice, under the names that
// they had once; JSON hasn't. Source: docs/spec/hook-tools.md §7.2.
type (
	networkInfo struct {
		BindAddresses []networkInterface `json:"bind-addresses,omitempty" yaml:"bind-addresses,omitempty"`
		Egress        []string           `json:"egress-subnets,omitempty" yaml:"egress-subnets,omitempty"`
		Ingress       []string           `json:"ingress-addresses,omitempty" yaml:"ingress-addresses,omitempty"`
	}
	networkInterface struct {
		MAC       string           `json:"mac-address" yaml:"mac-address"`
		Name      string           `json:"interface-name" yaml:"interface-name"`
		Addresses []networkAddress `json:"addresses" yaml:"addresses"`
		OldMAC    string           `json:"-" yaml:"macaddress"`
		OldName   string           `json:"-" yaml:"interfacename"`
	}
	networkAddress struct {
		Hostname string `json:"hostname" yaml:"hostname"`
		Value    string `json:"value" yaml:"value"`
		CIDR     string `json:"cidr" yaml:"cidr"`
		Old      string `json:"-" yaml:"address"`
	}
)

func networkDetails(network hookcontext.Network) networkInfo {
	info := networkInfo{Egress: network.Egress, Ingress: network.Ingress}
	for _, nic := range network.Interfaces {
		entry := networkInterface{
			MAC: nic.MAC, Name: nic.Name, OldMAC: nic.MAC, OldName: nic.Name,
			Addresses: []networkAddress{},
		}
		for _, a := range nic.Addresses {
			entry.Addresses = append(entry.Addresses, networkAddress{a.Hostname, a.Value, a.CIDR, a.Value})
		}
		info.BindAddresses = append(info.BindAddresses, entry)
	}
	return info
}

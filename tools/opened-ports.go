package tools

import (
	"maps"
	"slices"
	"strings"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

func openedPortsTool() Tool {
	return Tool{
		Name:    "opened-ports",
		Summary: "list the ports that the unit has opened",
		Details: `Ports are listed as the hook has left them, by protocol and number. With
--endpoints each is followed by the endpoints that it is open for; "*" is all.`,
		make: func(c *hookcontext.Context) command { return &openedPorts{ctx: c} },
	}
}

type openedPorts struct {
	ctx       *hookcontext.Context
	endpoints bool
	out       output
}

func (t *openedPorts) declare(f *flags) {
	f.BoolVar(&t.endpoints, "endpoints", false, "Display the list of target application endpoints for each port range")
	t.out.declare(f, smart, inYAML, inJSON)
}

func (t *openedPorts) parse(args []string) error { return noMore(args) }

func (t *openedPorts) run(c *call) error {
	ports, err := t.ctx.OpenedPorts()
	if err != nil {
		return err
	}
	lines := []string{}
	for _, r := range ports.All() {
		line := r.String()
		if t.endpoints {
			line += " (" + strings.Join(endpointsOf(ports, r), ", ") + ")"
		}
		lines = append(lines, line)
	}
	return t.out.write(c, lines)
}

// endpointsOf are those that a range is open for.
func endpointsOf(ports model.Ports, r model.PortRange) []string {
	var endpoints []string
	for _, ep := range slices.Sorted(maps.Keys(ports)) {
		if !slices.Contains(ports[ep], r) {
			continue
		}
		if ep == "" {
			return []string{"*"}
		}
		endpoints = append(endpoints, ep)
	}
	return endpoints
}

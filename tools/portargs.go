package tools

import (
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// portArgs are what open-port and close-port take.
type portArgs struct {
	endpointList string
	endpoints    []string // empty: all
	ports        model.PortRange
}

func (p *portArgs) declare(f *flags) {
	f.StringVar(&p.endpointList, "endpoints", "", "A comma-delimited list of application endpoints")
	f.declareDeadFormat()
}

func (p *portArgs) parse(args []string) (err error) {
	if len(args) == 0 {
		return errors.New("no port or range specified")
	}
	if p.ports, err = model.ParsePortRange(args[0]); err != nil {
		return err
	}
	for _, ep := range strings.Split(p.endpointList, ",") {
		if ep = strings.TrimSpace(ep); ep != "" {
			p.endpoints = append(p.endpoints, ep)
		}
	}
	return noMore(args[1:])
}

package tools

import (
	"fmt"
	"path/filepath"

	"github.com/juju/errors"
	"gopkg.in/yaml.v2"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

func payloadRegisterTool() Tool {
	return Tool{
		Name:    "payload-register",
		Args:    "<type> <class> <id> [labels...]",
		Summary: "register a charm payload with Juju",
		Details: `Notes, at once, something that the charm has started. Its class and type are those
of a payload in metadata.yaml, which is looked for in the working directory.`,
		make: func(c *hookcontext.Context) command { return &payloadRegister{ctx: c} },
	}
}

type payloadRegister struct {
	ctx     *hookcontext.Context
	payload model.Payload
}

func (t *payloadRegister) declare(*flags) {}

func (t *payloadRegister) parse(args []string) error {
	if len(args) < 3 {
		return errors.New("missing required arguments")
	}
	t.payload = model.Payload{Type: args[0], Class: args[1], ID: args[2], Labels: args[3:], Status: "running"}
	return nil
}

// maxMetadata bounds what is read of metadata.yaml.
const maxMetadata = 4 << 20

func (t *payloadRegister) run(c *call) error {
	b, err := readFile(c.open, filepath.Join(c.dir, "metadata.yaml"), maxMetadata)
	if err != nil {
		return err
	}
	var metadata struct {
		Payloads map[string]struct {
			Type string `yaml:"type"`
		} `yaml:"payloads"`
	}
	if err := yaml.Unmarshal(b, &metadata); err != nil {
		return errors.Annotate(err, "cannot read metadata.yaml")
	}
	switch declared, ok := metadata.Payloads[t.payload.Class]; {
	case !ok:
		return errors.NewNotFound(nil, fmt.Sprintf("payload %q not found in metadata.yaml", t.payload.Class))
	case declared.Type != t.payload.Type:
		return errors.Errorf("incorrect type %q for payload %q, expected %q", t.payload.Type, t.payload.Class, declared.Type)
	}
	return t.ctx.RegisterPayload(t.payload)
}

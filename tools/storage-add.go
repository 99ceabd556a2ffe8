package tools

import (
	"strconv"
	"strings"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

func storageAddTool() Tool {
	return Tool{
		Name:    "storage-add",
		Args:    "<charm storage name>[=count] ...",
		Summary: "add storage instances",
		Details: `The instances are made when the hook has succeeded, one of each name unless a
count is given. The storage-attached hook of each runs once it is there.`,
		make: func(c *hookcontext.Context) command { return &storageAdd{ctx: c} },
	}
}

type storageAdd struct {
	ctx    *hookcontext.Context
	counts map[string]int
}

func (t *storageAdd) declare(*flags) {}

func (t *storageAdd) parse(args []string) error {
	if len(args) == 0 {
		return errors.New("storage add requires a storage directive")
	}
	t.counts = map[string]int{}
	for _, arg := range args {
		name, text, given := strings.Cut(arg, "=")
		if _, twice := t.counts[name]; twice {
			return errors.Errorf("storage %s specified more than once", strconv.Quote(name))
		}
		t.counts[name] = 1
		if !given {
			continue
		}
		d, err := model.ParseStorageDirective(text)
		if err != nil {
			return errors.Errorf("cannot parse constraints for storage %s: %v", strconv.Quote(name), err)
		}
		if d != (model.StorageDirective{Count: d.Count}) {
			return errors.Errorf("only count can be specified for %s", strconv.Quote(name))
		}
		t.counts[name] = max(d.Count, 1)
	}
	return nil
}

func (t *storageAdd) run(*call) error { return t.ctx.AddStorage(t.counts) }

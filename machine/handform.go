package machine

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/tools/wire"
)

// HandoverForm says what an agent of this program hands over: it does so to a program that says the
// same when it is asked, as its units' machines would have to be made anew otherwise, or hooks'
// tools not be understood.
func HandoverForm() string {
	return fmt.Sprintf("%d.%d.%d", HandoverFormat, isolate.Layout(), wire.Version)
}

// firstTools is the version of the hook tools' protocol of agents whose form doesn't name it.
const firstTools = 1

// TakesOver says whether this program can take over from an agent that hands over in that form: in
// its own, or in that of the first agents, which doesn't name the hook tools' protocol.
func TakesOver(form string) bool {
	return form == HandoverForm() || wire.Version == firstTools && form == fmt.Sprintf("%d.%d", HandoverFormat, isolate.Layout())
}

// UnmarshalJSON is part of json.Unmarshaler: it reads what the first agents have handed over as
// well, whose environments and secrets are texts, not bytes in base64. An environment tells which
// it is: it has names with "_", such as JUJU_UNIT_NAME, which is no letter of base64.
func (h *HandedRun) UnmarshalJSON(b []byte) error {
	type plain HandedRun
	read := struct {
		*plain
		Env     []string
		Secrets []struct{ Key, Value string }
	}{plain: (*plain)(h)}
	if err := json.Unmarshal(b, &read); err != nil {
		return errors.Trace(err)
	}
	bytes := base64.StdEncoding.DecodeString
	for _, v := range read.Env {
		if _, err := bytes(v); err != nil {
			bytes = func(text string) ([]byte, error) { return []byte(text), nil }
		}
	}
	h.Env, h.Secrets = nil, nil
	for _, v := range read.Env {
		one, _ := bytes(v)
		h.Env = append(h.Env, one)
	}
	for _, s := range read.Secrets {
		value, err := bytes(s.Value)
		if err != nil {
			return errors.Annotatef(err, "reading secret %s", s.Key)
		}
		h.Secrets = append(h.Secrets, HandedSecret{s.Key, value})
	}
	return nil
}

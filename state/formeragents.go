package state

import (
	"encoding/json"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// FormerAgents is the error for a store of many hosts whose format is a former one
// while agents are there: they are of an earlier unitd, which would count the units in
// relations of which this one keeps no count. It reads the store as it is, before it is
// given the format of this program.
func FormerAgents(r store.Reader) error {
	infos, err := r.List(modelsPrefix)
	if err != nil {
		return errors.Trace(err)
	}
	var there []string
	for _, kv := range infos {
		var info ModelInfo
		value, ok := withoutSum(kv.Key, kv.Value)
		if !ok || json.Unmarshal(value, &info) != nil {
			continue // what is damaged is said by who opens that model
		}
		prefix := (&Model{info: info}).prefix()
		present, err := r.Keys(prefix+presenceKey(""), "", fewLeft)
		if err != nil {
			return errors.Trace(err)
		}
		for _, kv := range present {
			there = append(there, "machine "+strings.TrimPrefix(kv.Key, prefix+presenceKey(""))+" of model "+info.Name)
		}
		if len(present) > 0 {
			continue
		}
		alive, err := r.Keys(prefix+managerAliveKey, "", 1)
		if err != nil {
			return errors.Trace(err)
		}
		if len(alive) > 0 {
			there = append(there, "the manager of model "+info.Name)
		}
	}
	if len(there) == 0 {
		return nil
	}
	return errors.Errorf(`agents of an earlier unitd work on it (%s%s): "unitd shutdown" on their hosts ends them; then this unitd takes the store over, and earlier ones refuse it`,
		strings.Join(there[:min(len(there), 5)], ", "), more(len(there)-5))
}

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
	var there []string
	err := eachFormer(r, func(info ModelInfo, prefix string, present []string) error {
		for _, id := range present {
			there = append(there, "machine "+id+" of model "+info.Name)
		}
		if len(present) > 0 {
			return nil
		}
		alive, err := r.Keys(prefix+managerAliveKey, "", 1)
		if len(alive) > 0 {
			there = append(there, "the manager of model "+info.Name)
		}
		return errors.Trace(err)
	})
	if err != nil {
		return errors.Trace(err)
	}
	return formerError(there)
}

// FormerMachines is FormerAgents for the store of one host, where the lock of its directory says
// whether the manager is there: the error names those that have joined. own says whether one of
// them, in the model with that UUID, is the caller's own.
func FormerMachines(r store.Reader, own func(uuid, machine string) bool) error {
	var there []string
	err := eachFormer(r, func(info ModelInfo, prefix string, present []string) error {
		for _, id := range present {
			kv, err := r.Get(prefix + machineKey(id))
			if err != nil && !errors.Is(err, errors.NotFound) {
				return errors.Trace(err)
			}
			var doc MachineDoc
			value, ok := withoutSum(kv.Key, kv.Value)
			if ok && json.Unmarshal(value, &doc) == nil && doc.Agent != "" && !own(info.UUID, id) {
				there = append(there, "machine "+id+" of model "+info.Name)
			}
		}
		return nil
	})
	if err != nil {
		return errors.Trace(err)
	}
	return formerError(there)
}

// eachFormer has look told of each model, by what its keys begin with, and which of its machines
// are there. What is damaged is said by who opens that model.
func eachFormer(r store.Reader, look func(info ModelInfo, prefix string, present []string) error) error {
	infos, err := r.List(modelsPrefix)
	if err != nil {
		return errors.Trace(err)
	}
	for _, kv := range infos {
		var info ModelInfo
		value, ok := withoutSum(kv.Key, kv.Value)
		if !ok || json.Unmarshal(value, &info) != nil {
			continue
		}
		prefix := (&Model{info: info}).prefix()
		kvs, err := r.Keys(prefix+presenceKey(""), "", fewLeft)
		if err != nil {
			return errors.Trace(err)
		}
		var present []string
		for _, kv := range kvs {
			present = append(present, strings.TrimPrefix(kv.Key, prefix+presenceKey("")))
		}
		if err := look(info, prefix, present); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// formerError names agents that are there; nil: none is.
func formerError(there []string) error {
	if len(there) == 0 {
		return nil
	}
	return errors.Errorf(`agents of an earlier unitd work on it (%s%s): "unitd shutdown" on their hosts ends them; then this unitd takes the store over, and earlier ones refuse it`,
		strings.Join(there[:min(len(there), 5)], ", "), more(len(there)-5))
}

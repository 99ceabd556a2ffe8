package render_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// class is one of Jubilant's dataclasses: the sort of each key that it reads, and
// whether the key is required. Source: docs/spec/juju-clients.md §2.
type class map[string]struct {
	sort     string
	required bool
}

// classes are those of the contract's tables.
func classes(t *testing.T) map[string]class {
	t.Helper()
	page, err := os.ReadFile("../docs/spec/juju-clients.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## 2 JSON that Jubilant parses")
	section, _, _ = strings.Cut(section, "Read elsewhere, without a dataclass")
	row := regexp.MustCompile(`(?m)^\| ([A-Z]\w+) \| (.+) \| (.+) \|$`)
	key := regexp.MustCompile(`^([a-z-]+)(?: (int|bool|object|map|list))? \d+$`)
	all := map[string]class{}
	for _, r := range row.FindAllStringSubmatch(section, -1) {
		c := class{}
		for i, cell := range r[2:] {
			cell, _, _ = strings.Cut(cell, " ;")
			for _, word := range strings.Split(cell, ", ") {
				if word == "–" {
					continue
				}
				k := key.FindStringSubmatch(word)
				if k == nil {
					t.Fatalf("class %s: %q is no key", r[1], word)
				}
				f := c[k[1]]
				f.sort, f.required = k[2], i == 0
				c[k[1]] = f
			}
		}
		all[r[1]] = c
	}
	return all
}

// within are the classes of what an object, a map or a list of a class has in it.
var within = map[string]string{
	"Status.model": "ModelStatus", "Status.machines": "MachineStatus", "Status.applications": "AppStatus", "Status.storage": "CombinedStorage",
	"Status.controller": "ControllerStatus", "Status.offers": "OfferStatus", "Status.application-endpoints": "RemoteAppStatus",
	"ModelStatus.model-status": "StatusInfo", "AppStatus.base": "FormattedBase", "AppStatus.application-status": "StatusInfo",
	"AppStatus.relations": "[]AppStatusRelation", "AppStatus.units": "UnitStatus", "AppStatus.endpoint-bindings": "text",
	"UnitStatus.workload-status": "StatusInfo", "UnitStatus.juju-status": "StatusInfo", "UnitStatus.subordinates": "UnitStatus",
	"MachineStatus.juju-status": "StatusInfo", "MachineStatus.machine-status": "StatusInfo", "MachineStatus.base": "FormattedBase",
	"CombinedStorage.storage": "StorageInfo", "CombinedStorage.filesystems": "FilesystemInfo", "CombinedStorage.volumes": "VolumeInfo",
	"StorageInfo.status": "EntityStatus", "StorageInfo.attachments": "StorageAttachments", "StorageAttachments.units": "UnitStorageAttachment",
	"FilesystemInfo.status": "EntityStatus", "FilesystemInfo.attachments": "FilesystemAttachments", "FilesystemAttachments.units": "FilesystemAttachment",
	"VolumeInfo.status": "EntityStatus", "VolumeInfo.attachments": "VolumeAttachments", "VolumeAttachments.units": "VolumeAttachment",
	"OfferStatus.endpoints": "RemoteEndpoint", "RemoteAppStatus.endpoints": "RemoteEndpoint", "RemoteAppStatus.application-status": "StatusInfo",
	"RemoteAppStatus.relations": "[]text",
	"ModelInfo.status":          "ModelStatusInfo", "ModelInfo.users": "ModelUserInfo", "ModelInfo.machines": "ModelMachineInfo",
	"ModelInfo.supported-features": "SupportedFeature", "ModelInfo.secret-backends": "SecretBackendInfo", "ModelInfo.credential": "ModelCredential",
	"Secret.access": "Access", "Secret.revisions": "Revision",
	"UnitInfo.relation-info": "RelationData", "RelationData.local-unit": "UnitRelationData", "RelationData.related-units": "UnitRelationData",
	"RelationData.application-data": "text", "UnitRelationData.data": "text", "RevealedSecret.content": "SecretContent",
}

// parser reads JSON as Jubilant does.
type parser struct {
	t    *testing.T
	all  map[string]class
	seen map[string]bool // "Class" and "Class.key"
}

func (p parser) parse(name string, at string, v any) {
	p.t.Helper()
	if each, ok := strings.CutPrefix(name, "[]"); ok {
		list, ok := v.([]any)
		if !ok {
			p.t.Errorf("%s: %v is no list", at, v)
		}
		for i, item := range list {
			p.parse(each, fmt.Sprintf("%s[%d]", at, i), item)
		}
		return
	}
	c, known := p.all[name]
	if !known {
		if _, isText := v.(string); name == "text" && !isText {
			p.t.Errorf("%s: %v is no text", at, v)
		}
		return
	}
	o, ok := v.(map[string]any)
	if !ok {
		p.t.Errorf("%s: a %s is an object, not %v", at, name, v)
		return
	}
	p.seen[name] = true
	for key, f := range c {
		value, there := o[key]
		switch {
		case !there && f.required:
			p.t.Errorf("%s: a %s has no %q", at, name, key)
		case there:
			p.seen[name+"."+key] = true
			p.value(name+"."+key, f.sort, f.required, at+"."+key, value)
		}
	}
}

func (p parser) value(key, sort string, required bool, at string, v any) {
	p.t.Helper()
	ok := v == nil && !required
	inside := within[key]
	switch is := v.(type) {
	case string:
		ok = sort == ""
	case bool:
		ok = sort == "bool"
	case float64:
		ok = sort == "int" && is == math.Trunc(is)
	case []any:
		ok = sort == "list"
		for i, item := range is {
			p.parse(inside, fmt.Sprintf("%s[%d]", at, i), item)
		}
	case map[string]any:
		ok = sort == "object" || sort == "map"
		if sort == "object" {
			p.parse(inside, at, v)
			break
		}
		for _, name := range slices.Sorted(maps.Keys(is)) {
			p.parse(inside, at+"."+name, is[name])
		}
	case nil: // of a map or a list it is iterated
		ok = ok && !slices.Contains([]string{"object", "map", "list"}, sort)
	}
	if !ok {
		p.t.Errorf("%s: %v is no %s", at, v, sort)
	}
}

// TestProgramsFindWhatTheyParse has what unitd prints read by the contract's tables: of
// a model that has something of everything, and of an empty one.
func TestProgramsFindWhatTheyParse(t *testing.T) {
	t.Parallel()
	p := parser{t, classes(t), map[string]bool{}}
	now := time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC)
	host := render.Host{Arch: "amd64", Cores: 8}
	facts := render.ModelFacts{Controller: "unitd", ControllerUUID: "uuid", Secrets: 1, Host: host, Now: now}
	task := state.TaskDoc{ID: "6", Status: state.TaskCompleted, Results: map[string]any{"return-code": 0}, Log: []state.TaskLine{{Time: now, Message: "m"}}}
	unit := &state.UnitDetail{UnitView: busy(now).Applications[0].Units[0], Charm: "local:shop-0", Relations: []state.UnitRelation{{
		Own: model.Endpoint{Name: "db"}, Other: model.Endpoint{Name: "store"}, Remote: []state.RemoteUnit{{Unit: "ledger/0"}},
	}}}
	secret := render.SecretOf(model.SecretInfo{Label: "l", Created: now, Updated: now, Revisions: []model.SecretRevision{{Revision: 1, Created: now}}})
	secret.Access = []render.SecretAccess{render.SecretAccessOf("uuid", model.SecretGrant{Target: "shop"})}
	secret.Revisions = []render.SecretRevision{{Revision: 1, Created: secret.Created, Updated: secret.Updated}}
	secret.Content = &render.SecretContent{Data: map[string]string{"k": "v"}}
	for _, row := range []struct {
		class string
		v     any
	}{
		{"Status", render.StatusTree(busy(now), host, true)},
		{"Status", render.StatusTree(&state.FullStatus{Timestamp: now}, host, false)},
		{"ModelInfo", render.ModelTree(busy(now), facts)},
		{"ModelInfo", render.ModelTree(&state.FullStatus{}, facts)},
		{"UnitInfo", render.UnitDetail(unit, "", "", false)},
		{"UnitInfo", render.UnitDetail(&state.UnitDetail{}, "", "", false)},
		{"Secret", secret}, {"RevealedSecret", secret},
		{"Task", render.TaskOf(task)}, {"Task", render.TaskOf(state.TaskDoc{ID: "7", Status: state.TaskPending})},
		{"Version", render.Tree{"version": hooks.Version}},
	} {
		b, err := json.Marshal(row.v)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatal(err)
		}
		if o, ok := v.(map[string]any); ok && row.class == "Secret" {
			o["uri"] = "id" // which the secret is printed under
		}
		p.parse(row.class, row.class, v)
		if strings.Contains(string(b), "null") {
			t.Errorf("%s: something is null in %s", row.class, b)
		}
	}
	// What there is none of here, and what other tests have.
	without := []string{"LxdProfileContents", "ModelCredential", "NetworkInterface", "OfferStatus", "RemoteAppStatus", "RemoteEndpoint"}
	for _, name := range slices.Sorted(maps.Keys(p.all)) {
		if p.seen[name] == slices.Contains(without, name) {
			t.Errorf("class %s: found %v", name, p.seen[name])
		}
	}
}

// busy is a model that has something of everything.
func busy(now time.Time) *state.FullStatus {
	active := model.Status{Status: model.StatusActive, Message: "open", Since: now}
	of := func(id model.StorageID, kind string, unit model.UnitName) state.StorageView {
		v := state.StorageView{StorageDoc: state.StorageDoc{ID: id, Kind: kind, Pool: "rootfs", Provider: "rootfs", Size: 1024, Unit: unit, Since: now}}
		if unit != "" {
			v.Attachment = &state.AttachmentDoc{Storage: id, Unit: unit, Ready: true, Location: "/srv"}
		}
		return v
	}
	shop := state.UnitView{UnitDoc: state.UnitDoc{Name: "shop/0", Machine: "0", Subordinates: []model.UnitName{"sub/0"}}, Workload: active, Agent: active, Leader: true, Address: "10.9.8.7"}
	sub := state.UnitView{UnitDoc: state.UnitDoc{Name: "sub/0", Machine: "0", Principal: "shop/0"}, Workload: active, Agent: active}
	pod := state.UnitView{UnitDoc: state.UnitDoc{Name: "web/0", Pod: true}, Workload: active, Agent: active}
	related := map[string][]state.RelatedView{"db": {{Application: "ledger", Interface: "kv", Scope: model.Global}}}
	return &state.FullStatus{
		Model: state.ModelInfo{Name: "m", UUID: "u", Created: now}, Timestamp: now,
		Machines: []state.MachineView{
			{MachineDoc: state.MachineDoc{ID: "0", Addresses: []string{"10.9.8.7"}, Started: now}, Present: true, Base: model.Base{Name: "ubuntu", Channel: "24.04"}},
			{MachineDoc: state.MachineDoc{ID: "1", Provider: state.ManualProvider, Created: now}},
		},
		Applications: []state.ApplicationView{
			{ApplicationDoc: state.ApplicationDoc{Name: "shop", Charm: "local:shop-0", Base: "ubuntu@24.04"}, Status: active, Relations: related, Units: []state.UnitView{shop}},
			{ApplicationDoc: state.ApplicationDoc{Name: "sub", Charm: "local:sub-0", Subordinate: true}, SubordinateTo: []string{"shop"}, Units: []state.UnitView{sub}},
			{ApplicationDoc: state.ApplicationDoc{Name: "web", Charm: "local:web-0", Sidecar: true, Scale: 2}, Units: []state.UnitView{pod}},
			{ApplicationDoc: state.ApplicationDoc{Name: "none", Charm: "local:none-0"}},
		},
		Storage: []state.StorageView{of("data/0", model.Filesystem, "shop/0"), of("data/1", model.Filesystem, ""), of("disk/2", model.Block, "shop/0")},
	}
}

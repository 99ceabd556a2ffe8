package render

import (
	"cmp"
	"maps"

	"github.com/unitd/unitd/model"
)

// ActionSchemas are the actions' JSON schemas, each with the action's name for its
// title and with what the action does.
func ActionSchemas(actions map[string]model.ActionSpec) map[string]map[string]any {
	out := map[string]map[string]any{}
	for name, spec := range actions {
		schema := map[string]any{"title": name, "description": cmp.Or(spec.Description, "No description")}
		maps.Copy(schema, spec.Params)
		out[name] = schema
	}
	return out
}

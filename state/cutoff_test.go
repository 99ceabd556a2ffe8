package state

import "context"

// BeginForceDestroyMachine is ForceDestroyMachine that is cut off after its
// first step.
func (m *Model) BeginForceDestroyMachine(ctx context.Context, id string) error {
	return m.beginForced(ctx, id)
}

package machine

import (
	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

// Cloud is part of hookcontext.View: machines that somebody else has made are
// those of the manual cloud, to which there is no credential.
func (v liveView) Cloud() (hookcontext.Cloud, error) {
	app, err := v.model().Application(v.ctx, v.u.name.Application())
	if err != nil {
		return hookcontext.Cloud{}, errors.Trace(err)
	}
	if !app.Trust {
		return hookcontext.Cloud{}, errors.NewForbidden(nil, "permission denied")
	}
	return hookcontext.Cloud{Type: "manual", Name: "local", Region: "host"}, nil
}

// RegisterPayload is part of hookcontext.View.
func (v liveView) RegisterPayload(p model.Payload) error {
	return v.model().RegisterPayload(v.ctx, v.u.name, p)
}

// UnregisterPayload is part of hookcontext.View.
func (v liveView) UnregisterPayload(class, id string) error {
	return v.model().UnregisterPayload(v.ctx, v.u.name, class, id)
}

// SetPayloadStatus is part of hookcontext.View.
func (v liveView) SetPayloadStatus(class, id, status string) error {
	return v.model().SetPayloadStatus(v.ctx, v.u.name, class, id, status)
}

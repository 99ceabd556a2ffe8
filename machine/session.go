package machine

import (
	"context"
	"encoding/json"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
)

// sessionQuestion asks an agent for a session on its host, such as a shell in a unit: package
// sessions. It stands beside FilesQuestion, as an agent that is older takes it for one.
type sessionQuestion struct {
	// Print is by what the agent will know who comes.
	Print string `json:"session,omitempty"`
}

// SessionDoor is where an agent waits for somebody who has asked for a session.
type SessionDoor struct {
	// Addresses are HOST:PORT, the preferred one first.
	Addresses []string `json:"addresses"`
	// Print is by what who comes knows the agent.
	Print string `json:"print"`
}

// AskForSession asks the agent of a machine, or of state.ManagingHost, for a session on its
// host, for who has a print, and waits for it until ctx is done. The error says why there is
// none; NotSupported: the agent is older than sessions.
func AskForSession(ctx context.Context, m *state.Model, machine, print string) (SessionDoor, error) {
	answer, err := m.Ask(ctx, machine, sessionQuestion{Print: print})
	if err != nil {
		return SessionDoor{}, errors.Trace(err)
	}
	files, err := unpack(answer)
	if err != nil {
		return SessionDoor{}, errors.Trace(err)
	}
	if files.Session == nil {
		return SessionDoor{}, errors.NotSupportedf("sessions on its host")
	}
	return *files.Session, nil
}

// AsksForSession says whether a question to an agent asks for a session. One that can't be read
// may.
func AsksForSession(body json.RawMessage) bool {
	var q sessionQuestion
	return json.Unmarshal(body, &q) != nil || q.Print != ""
}

// noSessions is what an agent says that has no leave to open any.
const noSessions = "it opens no sessions: start it with --allow-sessions, or run the command there"

// openSession expects who has a print.
func (a *answering) openSession(print string) Files {
	if a.session == nil {
		return Files{Error: noSessions}
	}
	door, err := a.session(a.model.UUID(), print)
	if err != nil {
		return Files{Error: err.Error()}
	}
	return Files{Session: &door}
}

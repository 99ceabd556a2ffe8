package state

// Author says on whose behalf a model is changed: a person's command.
type Author struct {
	// User is the name of the account, as the command's host has it; through sudo it is who
	// has called that, with "as root" after it. Host is the host's name.
	User string `json:"user"`
	Host string `json:"host,omitempty"`
	// Command is the command line, without what is secret.
	Command string `json:"command"`
}

// WithAuthor is the controller for a person's command: each transaction that changes a
// model by it leaves a Logged in the model. who is called when the first has something to
// leave. Agents, whose histories say what they have done, have none.
func (c *Controller) WithAuthor(who func() Author) *Controller {
	with := *c
	with.author = who
	return &with
}

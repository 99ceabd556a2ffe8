// Package agent is the agent as a process of this host: the one that a command
// starts in the background, or that a service manager has in the foreground. It
// knows where its data directory is, which process has its lock, which store it
// works on and with which keys, which machine it has joined as, and who else manages
// the models. What an agent does is package machine's; which models there are is in
// the store that a [Host] opens for the command.
//
// Nothing here parses flags or prints tables: what a person is told beside a result
// goes to the stream that the Host was made with.
package agent

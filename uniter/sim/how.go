package sim

// How says how an operation ends.
type How string

// The ways for an operation to end.
const (
	Well How = "well"
	// Badly: the hook fails. For hooks only, as are the next three.
	Badly How = "badly"
	// StoppedAgent: the agent is stopped in good order, and starts again.
	StoppedAgent How = "stopped"
	// StoppedAtCommit: the agent is stopped in good order once the hook has
	// succeeded, while the model can't be reached, and starts again.
	StoppedAtCommit How = "stopped at its commit"
	// Overdue: the hook takes longer than it may. For hooks with a limit only.
	Overdue How = "overdue"
	// KilledWithin: the agent is killed while the hook runs, and starts again.
	KilledWithin How = "killed within"
	// KilledAfter: the agent is killed once the world has moved and before its
	// journal says so, and starts again.
	KilledAfter How = "killed after"
)

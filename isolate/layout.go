package isolate

// layout is how the root of a cell is put together: an init that has another one
// is ended, and the cell made anew. Those of the first had the directory of all
// agents, and saw the agent's own; those of the second had all rights of the host's root;
// those of the third could put links where the agent follows them.
const layout = 4

// Layout tells cells that a program finds from those that it would make anew: these are of
// another number.
func Layout() int { return layout }

package isolate

// Fact is something of this host that decides what machines it can give units.
type Fact struct {
	// Name is what it is, Value how it is here.
	Name  string `json:"name" yaml:"name"`
	Value string `json:"value" yaml:"value"`
	// Do is what would give more, in a line that has the command; empty: nothing would.
	Do string `json:"do,omitempty" yaml:"do,omitempty"`
}

// Attempt is what a machine that was made to see has had.
type Attempt struct {
	// Lost is what it has lacked, in a line; empty: nothing.
	Lost string
	// OwnUsers: it has had users of its own, in a user name space that root has made.
	OwnUsers bool
}

package model

// Payload is something that a charm runs and keeps track of by the payload
// tools, "class/id".
type Payload struct {
	Class  string   `json:"class"`
	ID     string   `json:"id"`
	Type   string   `json:"type"`
	Status string   `json:"status"`
	Labels []string `json:"labels,omitempty"`
}

// PayloadStatuses are the statuses of a payload, in order.
func PayloadStatuses() []string { return []string{"running", "starting", "stopped", "stopping"} }

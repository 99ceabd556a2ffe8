package render

// Payload is a payload as people see it.
type Payload struct {
	Unit    string   `json:"unit" yaml:"unit"`
	Machine string   `json:"machine" yaml:"machine"`
	ID      string   `json:"id" yaml:"id"`
	Type    string   `json:"type" yaml:"type"`
	Class   string   `json:"payload-class" yaml:"payload-class"`
	Labels  []string `json:"labels,omitempty" yaml:"labels,omitempty"`
	Status  string   `json:"status" yaml:"status"`
}

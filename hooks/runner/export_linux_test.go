package runner

// Dir is the directory that c has.
func (c *Cgroups) Dir() string { return c.dir }

package resolver

// Found is what the agent knows when it starts: what it had journalled, and
// the charm that is in the charm directory. Another charm there than the
// journal has was deployed just before the agent was killed, so what After
// says of Deploy is made up for; empty: there is none.
func Found(l Local, deployed string) Local {
	l = l.Clone()
	if l.Charm != "" && deployed != "" && deployed != l.Charm {
		switch {
		// No charm is deployed while a hook runs: the run that looks pending
		// has committed, only its end isn't on disk.
		case l.Current != nil && l.Current.Step == Pending:
			l.Upgraded = true
		case l.Current == nil && l.Installed:
			l.Upgraded = true
		}
	}
	l.Charm = deployed
	return l
}

package hooks

import "github.com/juju/errors"

// IsWorkload says whether the hook is about one of the unit's workload
// containers. Source: docs/spec/containers.md §2.1.
func (i Info) IsWorkload() bool {
	switch i.Kind {
	case PebbleReady, PebbleCustomNotice, PebbleCheckFailed, PebbleCheckRecovered:
		return true
	}
	return false
}

// IsNotice says whether the hook tells of something that Pebble has sent as a
// notice: a custom one, or what became of a check.
func (i Info) IsNotice() bool { return i.IsWorkload() && i.Kind != PebbleReady }

// workloadEnviron is what a hook of a workload container finds besides. A check's
// hook gets nothing of the notice that it came by. Source:
// docs/spec/containers.md §2.1.
func (i Info) workloadEnviron() []string {
	if !i.IsWorkload() {
		return nil
	}
	env := []string{"JUJU_WORKLOAD_NAME=" + i.Workload}
	switch i.Kind {
	case PebbleCustomNotice:
		env = append(env, "JUJU_NOTICE_ID="+i.NoticeID, "JUJU_NOTICE_TYPE="+i.NoticeType, "JUJU_NOTICE_KEY="+i.NoticeKey)
	case PebbleCheckFailed, PebbleCheckRecovered:
		env = append(env, "JUJU_PEBBLE_CHECK_NAME="+i.CheckName)
	}
	return env
}

// About is what a person is told of a workload hook beside its name, which has
// the container: the key of the notice, or the check; empty for others.
func (i Info) About() string {
	switch i.Kind {
	case PebbleCustomNotice:
		return i.NoticeKey
	case PebbleCheckFailed, PebbleCheckRecovered:
		return i.CheckName
	}
	return ""
}

// validateWorkload is Validate for a kind of that shape, with the texts of
// docs/spec/containers.md §2.1. What a charm isn't told of may stand in any.
func (i Info) validateWorkload(s Shape) error {
	missing := ""
	switch {
	case i.Endpoint+string(i.RemoteUnit) != "":
		return errors.NotValidf("%s hook with a relation", i.Kind)
	case i.Storage != "":
		return errors.NotValidf("%s hook with storage", i.Kind)
	case i.Workload == "":
		missing = "workload name"
	case s == AboutNotice && (i.NoticeID == "" || i.NoticeType == "" || i.NoticeKey == ""):
		missing = "notice ID, type, and key"
	case s == AboutCheck && i.CheckName == "":
		missing = "check name"
	default:
		return nil
	}
	return errors.NewNotValid(nil, `"`+string(i.Kind)+`" hook requires a `+missing)
}

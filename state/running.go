package state

import (
	"context"
	"fmt"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
)

// CheckHookTimeout says whether the text is a time-out for hooks, such as "10m";
// 0 is none, and empty as if it weren't set. The error is NotValid and begins
// with the name of the setting.
func CheckHookTimeout(setting, text string) error {
	if d, err := parseTimeout(text); err != nil || d < 0 {
		return errors.NewNotValid(nil, fmt.Sprintf("%s: %q is not a duration like 10m, or 0 for none", setting, text))
	}
	return nil
}

func parseTimeout(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	return time.ParseDuration(text)
}

// hookTimeout is how long the application's hooks may take; 0: as long as they
// like.
func hookTimeout(app ApplicationDoc, conf map[string]string) (time.Duration, error) {
	text := app.HookTimeout
	if text == "" {
		text = conf[HookTimeout]
	}
	d, err := parseTimeout(text)
	return d, errors.Annotate(err, HookTimeout)
}

var validLockGroup = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// CheckLockGroup says whether the text names a lock group; empty is the
// machine's. The error is NotValid and begins with the name of the setting.
func CheckLockGroup(setting, text string) error {
	if text != "" && !validLockGroup.MatchString(text) {
		return errors.NewNotValid(nil, fmt.Sprintf("%s: %q is not a name of letters, digits, dots, dashes and underscores", setting, text))
	}
	return nil
}

// checkRunning says whether it is said well how hooks are run.
func (a DeployArgs) checkRunning() error {
	if err := CheckHookTimeout(HookTimeout, a.HookTimeout); err != nil {
		return errors.Trace(err)
	}
	if err := CheckLockGroup("lock-group", a.LockGroup); err != nil {
		return errors.Trace(err)
	}
	if err := CheckRecordPebble("record-pebble", a.RecordPebble); err != nil {
		return errors.Trace(err)
	}
	if err := CheckWorkloadErrors("workload-errors", a.WorkloadErrors); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(a.Isolation.Validate())
}

// AreErrors is ApplicationDoc.WorkloadErrors where failed hooks of workload
// containers are errors of their units.
const AreErrors = "error"

// CheckWorkloadErrors says whether the text says what becomes of failed hooks of
// workload containers: AreErrors, or empty as if it weren't set. The error is
// NotValid and begins with the name of the setting.
func CheckWorkloadErrors(setting, text string) error {
	if text != "" && text != AreErrors {
		return errors.NewNotValid(nil, fmt.Sprintf("%s: %q is not %q: reset it to have such hooks stand aside", setting, text, AreErrors))
	}
	return nil
}

// SetWorkloadErrors says what becomes of hooks of the application's workload
// containers that fail: see CheckWorkloadErrors. It holds for those that have failed
// already, too.
func (m *Model) SetWorkloadErrors(ctx context.Context, name, text string) error {
	if err := CheckWorkloadErrors("workload-errors", text); err != nil {
		return errors.Trace(err)
	}
	return m.changeApplication(ctx, name, func(_ *txn, app *ApplicationDoc) error {
		app.WorkloadErrors = text
		return nil
	})
}

// RecordsPebble is ApplicationDoc.RecordPebble where what was asked of Pebble is
// recorded.
const RecordsPebble = "true"

// CheckRecordPebble says whether the text says if what is asked of the Pebbles of
// workload containers is recorded: RecordsPebble, or empty as if it weren't set. The
// error is NotValid and begins with the name of the setting.
func CheckRecordPebble(setting, text string) error {
	if text != "" && text != RecordsPebble {
		return errors.NewNotValid(nil, fmt.Sprintf("%s: %q is not %q: reset it to have nothing of that recorded", setting, text, RecordsPebble))
	}
	return nil
}

// SetRecordPebble says whether what hooks of the application ask of Pebbles is
// recorded, from the next hook on: see CheckRecordPebble.
func (m *Model) SetRecordPebble(ctx context.Context, name, text string) error {
	if err := CheckRecordPebble("record-pebble", text); err != nil {
		return errors.Trace(err)
	}
	return m.changeApplication(ctx, name, func(_ *txn, app *ApplicationDoc) error {
		app.RecordPebble = text
		return nil
	})
}

// SetHookTimeout says how long a hook of the application may take, from the next
// one on: see CheckHookTimeout. Empty: as long as the model's setting says.
func (m *Model) SetHookTimeout(ctx context.Context, name, timeout string) error {
	if err := CheckHookTimeout(HookTimeout, timeout); err != nil {
		return errors.Trace(err)
	}
	return m.changeApplication(ctx, name, func(_ *txn, app *ApplicationDoc) error {
		app.HookTimeout = timeout
		return nil
	})
}

// SetLockGroup says with which units the application's share a turn for their
// hooks, from the next one on: those on the same machine whose group is the
// same; empty: the machine's own group.
func (m *Model) SetLockGroup(ctx context.Context, name, group string) error {
	if err := CheckLockGroup("lock-group", group); err != nil {
		return errors.Trace(err)
	}
	return m.changeApplication(ctx, name, func(_ *txn, app *ApplicationDoc) error {
		app.LockGroup = group
		return nil
	})
}

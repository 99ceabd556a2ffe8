package agent

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestAVersionIsTheTagElseTheCommit(t *testing.T) {
	t.Parallel()
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct{ name, told, module, commit, want, wantCommit string }{
		{"what the linker was told", "1.2.0", "(devel)", commit, "1.2.0", commit},
		{"the commit that the linker was told", "0.0.0-dev+0123456789ab", "(devel)", "", "0.0.0-dev+0123456789ab", "0123456789ab"},
		{"a tag that go install has fetched", "", "v1.2.0", "", "1.2.0", ""},
		{"one that isn't final", "", "v1.2.0-rc.1", "", "1.2.0-rc.1", ""},
		{"a commit without any tag", "", "v0.0.0-20261124183520-0123456789ab", commit, "0.0.0-dev+0123456789ab", commit},
		{"a commit after a tag", "", "v1.2.1-0.20261124183520-0123456789ab", commit, "0.0.0-dev+0123456789ab", commit},
		{"files that aren't the commit's", "", "v1.2.0+dirty", commit, "0.0.0-dev+0123456789ab", commit},
		{"nothing", "", "", "", "0.0.0-dev", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			info := &debug.BuildInfo{Main: debug.Module{Version: c.module}}
			if c.commit != "" {
				info.Settings = []debug.BuildSetting{{Key: "vcs.revision", Value: c.commit}}
			}
			if b := build(c.told, info); b.Version != c.want || b.Commit != c.wantCommit {
				t.Errorf("got %+v, want %s of commit %s", b, c.want, c.wantCommit)
			} else if released := strings.HasPrefix(c.want, "1."); b.Release() != map[bool]string{true: c.want}[released] {
				t.Errorf("it was released as %q", b.Release())
			}
		})
	}
	if b := build("", nil); b.Version != "0.0.0-dev" {
		t.Errorf("got %+v without what the compiler notes", b)
	}
}

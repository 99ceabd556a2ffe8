package web_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/unitd/unitd/check/web"
	"github.com/unitd/unitd/page/browser"
)

// TestHostThePageInABrowser: light and dark, wide and narrow, it can be read, and its texts can be
// copied.
func TestHostThePageInABrowser(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, web.Page(report().New(*report()), web.About{Version: "1.2.3"}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{1200, 400} {
		p := browser.Start(t, width, 900)
		p.Open("file://" + file)
		p.Wait(`document.querySelectorAll('.block button').length === 4`)
		p.Eval(`for (const d of document.querySelectorAll('details')) d.open = true`, nil)
		p.Eval(`window.copied = []; navigator.clipboard.writeText = async text => { window.copied.push(text); }; document.querySelector('.block button').click()`, nil)
		p.Wait(`window.copied.length === 1 && window.copied[0] === document.querySelector('.block pre').textContent && document.querySelector('[role=status]').textContent.startsWith('Copied the script of finding 1')`)
		var back [2]string
		for i, scheme := range []string{"light", "dark"} {
			p.Prefers(scheme)
			p.Eval(`getComputedStyle(document.body).backgroundColor`, &back[i])
			p.Accessible("the page of a check, " + scheme + ",")
		}
		if back[0] == back[1] {
			t.Errorf("light and dark are both %s", back[0])
		}
		var over int
		if p.Eval(`document.documentElement.scrollWidth - document.documentElement.clientWidth`, &over); over > 0 {
			t.Errorf("at %d pixels it is %d pixels too wide", width, over)
		}
		if faults := p.Faults(); len(faults) > 0 {
			t.Errorf("the browser complains: %q", faults)
		}
	}
}

package live_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/unitd/unitd/page/browser"
	"github.com/unitd/unitd/testcharms"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testcharms.RemovePrograms()
	os.Exit(code)
}

// host has a data directory of its own, in which the real program works.
type host struct {
	*testing.T
	dir, unitd string
	env        []string
}

func newHost(t *testing.T) *host {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("there is no chromium on this host")
	}
	programs, err := testcharms.Programs()
	if err != nil {
		t.Fatal(err)
	}
	h := &host{T: t}
	if h.unitd, err = filepath.Abs(filepath.Join(programs, "unitd")); err != nil {
		t.Fatal(err)
	}
	// Not t.TempDir: sockets have short paths.
	if h.dir, err = os.MkdirTemp("", "unitd-page-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(h.dir) })
	h.env = append(os.Environ(), "HOME="+h.dir, "UNITD_DATA="+filepath.Join(h.dir, "data"), "UNITD_STORE=", "JUJU_MODEL=", "UNITD_MODEL=", "UNITD_ISOLATE=off", "TZ=UTC")
	return h
}

// unitdSays runs a command and is what it has printed; its exit code has to be want.
func (h *host) unitdSays(want int, args ...string) string {
	h.Helper()
	cmd := exec.Command(h.unitd, args...)
	cmd.Env, cmd.Dir = h.env, h.dir
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != want {
		h.Fatalf("unitd %q ends with %d:\n%s", args, code, out)
	}
	return string(out)
}

// address starts a command that serves a page, and is the page's address.
func (h *host) address(args ...string) string {
	h.Helper()
	cmd := exec.Command(h.unitd, args...)
	cmd.Env, cmd.Dir = h.env, h.dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		h.Fatal(err)
	}
	var noted bytes.Buffer
	cmd.Stderr = &noted
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != 130 {
			h.Errorf("unitd %q ends with %v:\n%s", args, err, noted.String())
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if found := regexp.MustCompile(`http://\S+`).FindString(lines.Text()); found != "" {
			go func() { // what it prints later is nobody's
				for lines.Scan() {
				}
			}()
			return found
		}
	}
	h.Fatalf("unitd %q serves no page:\n%s", args, noted.String())
	return ""
}

// charm writes a charm whose start hook fails unless its title is fine.
func (h *host) charm() string {
	h.Helper()
	dir := filepath.Join(h.dir, "frail")
	for name, content := range map[string]string{
		"metadata.yaml": "name: frail\nsummary: fails when told to\ndescription: fails when told to\n",
		"config.yaml":   "options:\n  title: {type: string, default: none}\n",
		"actions.yaml":  "greet:\n  description: says hello\n  params:\n    who: {type: string}\n",
		"hooks/install": "#!/bin/sh\n[ ! -p '" + h.gate() + "' ] || read -r _ <'" + h.gate() + "'\n",
		"hooks/start":   "#!/bin/sh\n[ \"$(config-get title)\" = fine ] && exit 0\njuju-log 'about to fail'\nstatus-set blocked 'no luck'\necho 'the disk is on fire' >&2\nexit 7\n",
		"actions/greet": "#!/bin/sh\naction-set said=\"hello $(action-get who)\"\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			h.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			h.Fatal(err)
		}
	}
	return dir
}

// gate is where the first hook of that charm waits, if it is there.
func (h *host) gate() string { return filepath.Join(h.dir, "gate") }

// opens ends the hook that waits at the gate, which then goes.
func (h *host) opens() {
	h.Helper()
	err := os.WriteFile(h.gate(), []byte("open\n"), 0o600)
	if err == nil {
		err = os.Remove(h.gate())
	}
	if err != nil {
		h.Fatal(err)
	}
}

// accessible has axe look at the page, in both themes.
func accessible(t *testing.T, p *browser.Page, what string) {
	t.Helper()
	for range 2 {
		p.Accessible(what)
		p.Eval(`document.getElementById('theme').click()`, nil)
	}
}

// shot keeps a picture where somebody wants to look at it.
func shot(t *testing.T, p *browser.Page, name string) {
	t.Helper()
	if dir := os.Getenv("UNITD_TEST_SHOTS"); dir != "" {
		p.Screenshot(filepath.Join(dir, name+".png"))
	}
}

// click clicks the button or tab with that text.
func click(p *browser.Page, text string) {
	p.Wait(fmt.Sprintf(`[...document.querySelectorAll('button')].find(b => b.textContent === %q && b.checkVisibility())`, text))
	p.Eval(fmt.Sprintf(`[...document.querySelectorAll('button')].find(b => b.textContent === %q && b.checkVisibility()).click()`, text), nil)
}

// side waits until the details say something.
func side(p *browser.Page, text string) {
	p.Wait(fmt.Sprintf(`document.getElementById('side').innerText.includes(%q)`, text))
}

func TestHostThePageShowsTheShopAndAFailure(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	bundle, err := filepath.Abs(testcharms.Dir("shop.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p := browser.Start(t, 1400, 900)
	p.Open(h.address("up", bundle, "--isolate=off", "--ui", "--ui-write"))
	p.Wait(`document.querySelectorAll('.node').length === 2 && document.querySelectorAll('.edge').length === 1`)
	p.Wait(`document.getElementById('summary').textContent === '2 active'`)
	var address string
	if p.Eval(`location.href`, &address); strings.Contains(address, "token") {
		t.Errorf("the token stays in %s", address)
	}
	p.Eval(`window.former = true; location.reload()`, nil) // it is kept for this tab
	p.Wait(`!window.former && document.querySelectorAll('.node').length === 2`)

	// An application, by the keyboard; then its unit, and what it was told.
	p.Eval(`document.querySelector('[data-key="app/shop"]').focus()`, nil)
	p.Key("Enter")
	side(p, "shop:db — ledger:db")
	click(p, "shop/0")
	side(p, "The shop's ledger") // of the other side's databag
	side(p, "has had nothing to do")
	p.Wait(`U.runs.get('shop/0').some(r => r.hook === 'db-relation-changed' && U.cause(r)?.unit === 'ledger/0')`)
	shot(t, p, "unit")
	accessible(t, p, "the page with a unit")

	// A run that follows from another one, whose calls and log are there.
	p.Eval(`U.choose(U.runs.get('shop/0').find(r => r.hook === 'db-relation-changed' && r.from).key)`, nil)
	side(p, "Follows from")
	side(p, "relation-get")
	p.Wait(`U.ticks(U.parts.get(U.chosen)).length > 0`)
	accessible(t, p, "the page with a run")
	p.Eval(`U.choose('relation/0')`, nil)
	side(p, "ledgerdb")

	// Hooks as they run, and one that fails, with its reason.
	if err := syscall.Mkfifo(h.gate(), 0o600); err != nil {
		t.Fatal(err)
	}
	h.unitdSays(0, "deploy", h.charm(), "--isolate=off")
	p.Wait(`document.querySelectorAll('.node').length === 3`)
	click(p, "Units")
	p.Wait(`[...document.querySelectorAll('#units tbody tr')].find(row => row.innerText.includes('frail/0') && row.innerText.includes('executing'))`)
	h.opens()
	p.Wait(`document.getElementById('summary').textContent.includes('1 error')`)
	p.Eval(`U.choose('unit/frail/0')`, nil)
	side(p, `hook failed: "start"`)
	click(p, "the run that has failed")
	side(p, "the disk is on fire")
	side(p, "about to fail")
	side(p, "exit code 7")
	shot(t, p, "failure")

	// What changes the model.
	click(p, "frail/0")
	p.Wait(`document.getElementById('action')?.options.length === 1`)
	click(p, "Go on without it")
	p.Wait(`!document.getElementById('summary').textContent.includes('error')`)
	p.Wait(`document.querySelector('#side form#run:not([hidden]) input')`)
	p.Eval(`document.querySelector('#side form#run input').value = 'who="the world"'`, nil)
	click(p, "Run")
	side(p, "hello the world")
	p.Eval(`U.choose('app/frail')`, nil)
	p.Eval(`document.querySelector('#side form input').value = 'title', document.querySelectorAll('#side form input')[1].value = 'much better'`, nil)
	click(p, "Set")
	p.Wait(`U.runs.get('frail/0').some(r => r.cause.includes('title'))`)
	click(p, "Add a unit")
	p.Wait(`U.parts.has('unit/frail/1')`)
	p.Eval(`document.querySelector('#side form input').value = 'none'`, nil)
	click(p, "Set")
	p.Wait(`document.querySelector('#side output.wrong')?.textContent.includes('none')`)

	for _, tab := range []string{"Units", "Machines", "Log", "Changes", "Timeline", "Graph"} {
		click(p, tab)
		accessible(t, p, "the page with "+tab)
	}
	p.Eval(`document.getElementById('search').value = 'frail', document.getElementById('search').dispatchEvent(new Event('input'))`, nil)
	click(p, "Units")
	p.Wait(`document.querySelectorAll('#units tbody tr').length === 2`)
	if faults := p.Faults(); len(faults) > 0 {
		t.Errorf("the browser complains: %q", faults)
	}
}

// TestHostTheTimelineIsMovedByKeys: through time, among units and runs.
func TestHostTheTimelineIsMovedByKeys(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.unitdSays(0, "deploy", "--isolate=off", h.charm())
	h.unitdSays(0, "wait-for", "unit", "frail/0", "--query", `workload-status=="error"`)
	t.Cleanup(func() { h.unitdSays(0, "shutdown") })
	p := browser.Start(t, 1400, 900)
	p.Open(h.address("ui"))
	p.Wait(`U.runs.get('frail/0')?.some(r => r.outcome === 'failed')`)
	p.Eval(`document.querySelector('.lanes').focus()`, nil)
	p.Key("ArrowDown")
	side(p, "frail/0")
	p.Key(".")
	side(p, "install")
	p.Key(".")
	p.Key(".")
	p.Key(",")
	for _, key := range []string{"+", "-", "ArrowLeft", "ArrowRight", "Home", "End"} {
		p.Key(key)
	}
	var painted bool
	p.Eval(`(() => { const c = document.querySelector('canvas'); const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; return d.some(x => x); })()`, &painted)
	if !painted {
		t.Error("nothing is drawn")
	}
	// Without leave to write there is no button that changes something.
	var buttons bool
	p.Eval(`Boolean(document.querySelector('#side form, #side output'))`, &buttons)
	if buttons {
		t.Error("there are buttons that change something")
	}

	// The same in a file, which asks for nothing.
	file := filepath.Join(h.dir, "model.html")
	h.unitdSays(0, "ui", "--file", file)
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", st, err)
	}
	p.Open("file://" + file + "#unit/frail/0")
	p.Wait(`document.querySelectorAll('.node').length === 1`)
	side(p, "frail/0 waits with its failed hook start")
	p.Eval(`U.choose(U.runs.get('frail/0').find(r => r.outcome === 'failed').key)`, nil)
	side(p, "the disk is on fire")
	accessible(t, p, "the page in a file")
	if faults := p.Faults(); len(faults) > 0 {
		t.Errorf("the browser complains: %q", faults)
	}
}

// TestHostAWatchedCharmIsShownAsItChanges: the page of "unitd watch" shows what becomes of a hook
// that is mended meanwhile.
func TestHostAWatchedCharmIsShownAsItChanges(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	charm := h.charm()
	p := browser.Start(t, 1400, 900)
	p.Open(h.address("watch", charm, "--ui", "--isolate=off"))
	p.Wait(`document.getElementById('summary').textContent === '1 error'`)
	if err := os.WriteFile(filepath.Join(charm, "hooks", "start"), []byte("#!/bin/sh\nstatus-set active mended\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.Wait(`document.getElementById('summary').textContent === '1 active'`)
	p.Eval(`U.choose('unit/frail/0')`, nil)
	side(p, "mended")
	if faults := p.Faults(); len(faults) > 0 {
		t.Errorf("the browser complains: %q", faults)
	}
}

func TestHostAReportOfScriptsIsAPage(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.charm()
	for name, content := range map[string]string{
		"well.txtar": "deploy $SCRIPT_DIR/frail one --config title=fine\nsettle\n",
		"bad.txtar":  "deploy $SCRIPT_DIR/frail two\nsettle\n",
	} {
		if err := os.WriteFile(filepath.Join(h.dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := h.unitdSays(1, "test", "--isolate=off", "--report", "report.html")
	if !strings.Contains(out, "1 passed, 1 failed") {
		t.Fatalf("the scripts end with\n%s", out)
	}
	p := browser.Start(t, 1400, 900)
	p.Open("file://" + filepath.Join(h.dir, "report.html") + "#script/bad")
	side(p, "failed")
	side(p, "two/0 start")
	shot(t, p, "report")
	accessible(t, p, "the report")
	click(p, "two/0 start")
	side(p, "the disk is on fire")
	p.Eval(`(() => { const s = document.getElementById('world'); s.selectedIndex = [...s.options].findIndex(o => o.text === 'well'); s.dispatchEvent(new Event('change')); })()`, nil)
	side(p, "passed")
	p.Wait(`U.parts.has('unit/one/0') && !U.parts.has('unit/two/0')`)
	if faults := p.Faults(); len(faults) > 0 {
		t.Errorf("the browser complains: %q", faults)
	}
}

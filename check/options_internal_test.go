package check

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/model"
)

// TestValuesOfOptionsAreFoundInCode: literals right after an option's name, and what its description
// has in quotes; not the names of anything else, nor the default.
func TestValuesOfOptionsAreFoundInCode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "src"), 0o777); err != nil {
		t.Fatal(err)
	}
	code := `mode = self.config["mode"]
if mode not in ("fast", 'slow', "db", "level"):
    raise ValueError("no such mode")
size = self.config["level"]
if size == "large": pass
far = 1
far = 2
far = 3
far = "away"
`
	if err := os.WriteFile(filepath.Join(dir, "src", "charm.py"), []byte(code), 0o666); err != nil {
		t.Fatal(err)
	}
	s := Subject{Charm: model.Charm{
		Name:      "shop",
		Endpoints: map[string]model.CharmRel{"db": {}},
		Options: map[string]model.ConfigOption{
			"mode": {Type: "string", Default: "slow", Description: "fast, `still` or 'slow'"}, "level": {Type: "string"}, "count": {Type: "int", Description: "'one' or 'two'"},
		},
	}}
	if err := s.ReadConstants(dir); err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"mode": {"still", "fast"}, "level": {"large"}}
	if !reflect.DeepEqual(s.Values, want) {
		t.Errorf("got %v, want %v", s.Values, want)
	}
}

// TestSecretsOfOptionsAreGivenAndTaken: an option of type secret has one in the set-up of a whole
// world, and its secret changes, goes, isn't granted, and hasn't what is looked for.
func TestSecretsOfOptionsAreGivenAndTaken(t *testing.T) {
	t.Parallel()
	w := world()
	full := strings.Join(w.full(), "\n")
	if !strings.Contains(full, "grant-secret option-key shop\nconfig shop key=$OPTION_KEY\nsettle\n") {
		t.Errorf("its secret is missing in:\n%s", full)
	}
	var tried []string
	for _, p := range probes(w, []string{WrongConfig, Secrets, NoSecretsShown}, rand.New(rand.NewPCG(1, 0))) {
		tried = append(tried, p.promise+"\n"+strings.Join(p.lines(), "\n"))
	}
	for _, want := range []string{
		"wrong-config\nmark right\nadd-secret option-key host=open-first-of-option-key port=open-first-of-option-key password=content-first-of-option-key",
		"wrong-config\nmark right\nadd-secret option-key nothing=of-the-kind\ncapture OPTION_KEY\ngrant-secret",
		"wrong-config\nmark right\nconfig shop mode=fast\nsettle\nconfig shop mode=slow\nsettle\nconfig shop --reset mode\nsettle\nsame --but files right",
		"secrets\nadd-secret option-key ",
		"search content-first-of-option-key\n! stdout",
	} {
		if !slices.ContainsFunc(tried, func(lines string) bool { return strings.Contains(lines, want) }) {
			t.Errorf("nothing tries %q", want)
		}
	}
	ungranted := func(lines string) bool {
		return strings.HasPrefix(lines, WrongConfig) && strings.Contains(lines, "config shop key=$OPTION_KEY") && !strings.Contains(lines, "grant-secret")
	}
	if !slices.ContainsFunc(tried, ungranted) {
		t.Error("no secret isn't granted")
	}
}

// TestResourcesThatAreNotGivenHavePlaceholders: but for images that the charm's metadata names.
func TestResourcesThatAreNotGivenHavePlaceholders(t *testing.T) {
	t.Parallel()
	s := Subject{Charm: model.Charm{Name: "shop", Containers: map[string]model.ContainerSpec{"work": {}}, Resources: map[string]model.ResourceSpec{
		"data": {Type: "file", Filename: "data.zip"}, "given": {Type: "file"}, "image": {Type: "oci-image"}, "named": {Type: "oci-image", Upstream: "nginx"},
	}}}
	s.Resources([]string{"given=/a=b"})
	if want := []string{"--resource", "given=/a=b", "--resource", "data=/dev/null", "--resource", "image=host"}; !slices.Equal(s.Deploy, want) {
		t.Errorf("got %q, want %q", s.Deploy, want)
	}
	if want := []string{"data (an empty file)", "image (this host's root)"}; !slices.Equal(s.Placeholders, want) {
		t.Errorf("got %q, want %q", s.Placeholders, want)
	}
}

// TestWhatASecretHoldsIsHidden: the claim about a charm's own secrets is about passwords and the like
// alone, and about places that others read.
func TestWhatASecretHoldsIsHidden(t *testing.T) {
	t.Parallel()
	all := showing(world(), nil)[0].lines()
	at := slices.Index(all, "search --secrets shop")
	if at < 0 {
		t.Fatalf("nothing searches for them: %q", all)
	}
	form := regexp.MustCompile("(?m)" + strings.Trim(split(all[at+1])[2], "'"))
	for line, want := range map[string]bool{
		"key password: shop/0 databag shop:all word": true,
		"- api-token: shop/0 log":                    true,
		"a label admin-Password: shop status":        true,
		"key password: shop/0 databag shop:db token": false,
		"key token-url: shop/0 log":                  false,
		"key password: shop/0 file /etc/shop.conf":   false,
		"key user: shop/0 databag shop:db user":      false,
		"my-secret user: shop/0 log":                 false,
	} {
		if form.MatchString(line) != want {
			t.Errorf("%q matches: %v", line, !want)
		}
	}
}

// TestCostsAreCounted: what is usual, and one run that took much longer.
func TestCostsAreCounted(t *testing.T) {
	t.Parallel()
	spentOn := func(seconds, calls int) spent {
		return spent{[]time.Duration{time.Duration(seconds) * time.Second}, []int{calls}}
	}
	c := costs{}
	for i := range 5 {
		c.add("install", spentOn(1+i, 10*i))
		c.add("start", spentOn(1, 2))
	}
	other := costs{}
	other.add("start", spentOn(9, 300))
	c.take(other)
	all := c.all()
	if got, want := fmt.Sprint(all), "[{install 5 3s 5s 20 40} {start 6 1s 9s 2 300}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := longest(all), []string{"install 3.0s", "start 1.0s (once 9.0s)"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := mostCalls(all), []string{"start 300", "install 40"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestASlowHookIsLookedAtFirst: what is left to try is whether hooks wait, in the order in which it
// was, and then all else.
func TestASlowHookIsLookedAtFirst(t *testing.T) {
	t.Parallel()
	c := &search{looks: newLooks()}
	for i, promise := range []string{Killed, Frugal, Upgrade, Frugal} {
		c.queue = append(c.queue, probe{promise: promise, setUp: []string{fmt.Sprint(i)}, end: []string{"took " + longHook}})
	}
	c.queue = append(c.queue, probe{promise: Frugal, setUp: []string{"4"}, end: []string{"calls"}})
	order := func() (text string) {
		for _, p := range c.queue {
			text += p.setUp[0]
		}
		return text
	}
	c.looks.costs.add("start", spent{[]time.Duration{2 * time.Second}, []int{1}})
	c.looks.costs.add("upgrade-charm", spent{[]time.Duration{2 * time.Minute}, []int{1}})
	c.looks.costs.add("install", spent{[]time.Duration{2 * time.Minute}, []int{1}})
	if c.suspect(); order() != "01234" {
		t.Errorf("no hook is slow, and the order is %s", order())
	}
	c.looks.costs.add("start", spent{[]time.Duration{30 * time.Second}, []int{1}})
	if c.suspect(); order() != "13024" {
		t.Errorf("the order is %s", order())
	}
	// What comes once the life is known is suspected as well.
	life := world()
	life.Life, life.Hooks = [][]string{{"deploy"}, {"settle"}}, []Seen{{Step: 1, Hook: "start"}}
	c.world, c.unlived, c.Promises = world(), true, []string{Frugal}
	c.queue = []probe{{promise: Killed, setUp: []string{"other"}}}
	c.begun(t.Context(), life, true, nil)
	if first := c.queue[0]; first.promise != Frugal || !slices.Contains(first.lines(), "took "+longHook) {
		t.Errorf("the first is %+v", first)
	}
}

// TestAFormerVersionHasItsOwnResources: it isn't given others, which come with the upgrade.
func TestAFormerVersionHasItsOwnResources(t *testing.T) {
	t.Parallel()
	w := World{Subject: Subject{Former: "/was", Was: model.Charm{Resources: map[string]model.ResourceSpec{"old": {}}}, Charm: model.Charm{Name: "shop"}}}
	w.Charm.Resources = map[string]model.ResourceSpec{"old": {Type: "file"}, "new": {Type: "file"}}
	w.Resources([]string{"old=/a"})
	if got, want := w.formerDeploy()[0], "deploy $FORMER shop --resource old=/a"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := w.refresh()[0], "refresh shop --path $SCRIPT_DIR/.. --resource new=/dev/null"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := w.deploy(1)[0], "deploy $SCRIPT_DIR/.. shop --resource old=/a --resource new=/dev/null"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	w.Former, w.Was = "", model.Charm{}
	if got, want := w.refresh()[0], "refresh shop --path $SCRIPT_DIR/.."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAllOptionsAreChangedAtOnce(t *testing.T) {
	t.Parallel()
	w := world()
	var want []string
	for _, c := range w.changes() {
		want = append(want, strings.TrimPrefix(c.set[0], "config shop "))
	}
	all := w.changeAll()
	if len(want) < 2 || len(all) != 1 || all[0][0] != "config shop "+strings.Join(want, " ") || all[0][1] != "settle" {
		t.Errorf("%q is changed by %q", want, all)
	}
	if lines := leading(w, nil)[0].lines(); !slices.ContainsFunc(lines, func(l string) bool { return l == all[0][0] }) {
		t.Errorf("a leader isn't deposed while it changes all: %q", lines)
	}
	for name := range w.Charm.Options {
		if len(w.Charm.Options) > 1 {
			delete(w.Charm.Options, name)
		}
	}
	if all := w.changeAll(); all != nil {
		t.Errorf("of one option it makes %q", all)
	}
}

package model_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Source of each row: docs/spec/juju-clients.md §6.3.
func TestConstraints(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		words []string
		text  string
		json  string
		err   string
	}{
		{name: "none are an empty line and an empty object", json: `{}`},
		{
			name: "the order of the text isn't that of the JSON, sizes are in MiB, and words may have several",
			words: []string{"image-id=i zones=a,b instance-type=t", "mem=1G cores=4", "arch=arm64", "root-disk-source=s", "tags=^x,y",
				"allocate-public-ip=true", "virt-type=v", "spaces=^d", "container=lxd", "cpu-power=3", "root-disk=1.5T", "instance-role=r"},
			text: "arch=arm64 container=lxd cores=4 cpu-power=3 instance-role=r instance-type=t mem=1024M root-disk=1572864M " +
				"root-disk-source=s tags=^x,y spaces=^d virt-type=v zones=a,b allocate-public-ip=true image-id=i",
			json: `{"arch":"arm64","container":"lxd","cores":4,"cpu-power":3,"mem":1024,"root-disk":1572864,"root-disk-source":"s",` +
				`"tags":["^x","y"],"instance-role":"r","instance-type":"t","spaces":["^d"],"virt-type":"v","zones":["a","b"],` +
				`"allocate-public-ip":true,"image-id":"i"}`,
		},
		{name: "sizes are rounded up to whole MiB", words: []string{"mem=0.1", "root-disk=1.0001G"}, text: "mem=1M root-disk=1025M", json: `{"mem":1,"root-disk":1025}`},
		{name: "P is the largest suffix", words: []string{"mem=2P"}, text: "mem=2147483648M", json: `{"mem":2147483648}`},
		{name: "cpu-cores is cores", words: []string{"cpu-cores=2"}, text: "cores=2", json: `{"cores":2}`},
		{name: "an empty value says none", words: []string{"mem= tags="}, text: "mem= tags=", json: `{"mem":0,"tags":[]}`},
		{name: "a blank within a value is written with a backslash", words: []string{`instance-type=big\ one cores=2`}, text: `cores=2 instance-type=big\ one`, json: `{"cores":2,"instance-type":"big one"}`},
		{name: "no equals sign", words: []string{"cores"}, err: `malformed constraint "cores"`},
		{name: "unknown", words: []string{"cpu=2"}, err: `unknown constraint "cpu"`},
		{name: "a size that is none", words: []string{"mem=big"}, err: `bad "mem" constraint: must be a non-negative float with optional M/G/T/P suffix`},
		{name: "a size below zero", words: []string{"mem=-1G"}, err: `bad "mem" constraint: must be a non-negative float with optional M/G/T/P suffix`},
		{name: "a size that no host has", words: []string{"mem=1e300P"}, err: `bad "mem" constraint: must be a non-negative float with optional M/G/T/P suffix`},
		{name: "half a core", words: []string{"cores=0.5"}, err: `bad "cores" constraint: must be a non-negative integer`},
		{name: "an architecture that there isn't", words: []string{"arch=pdp11"}, err: `bad "arch" constraint: "pdp11" not recognized`},
		{name: "a kind of container that there isn't", words: []string{"container=kvm"}, err: `bad "container" constraint: "kvm" not recognized`},
		{name: "twice", words: []string{"mem=1G", "mem=2G"}, err: `bad "mem" constraint: already set`},
		{name: "neither true nor false", words: []string{"allocate-public-ip=yes"}, err: `bad "allocate-public-ip" constraint: must be 'true' or 'false'`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, err := model.ParseConstraints(test.words...)
			if test.err != "" {
				if err == nil || err.Error() != test.err || !errors.Is(err, errors.NotValid) {
					t.Errorf("got error %v, want %s", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(c)
			if err != nil || string(b) != test.json {
				t.Errorf("as JSON: %s, %v; want %s", b, err, test.json)
			}
			if c.String() != test.text {
				t.Errorf("as text: %q, want %q", c, test.text)
			}
			again, err := model.ParseConstraints(c.String())
			if err != nil || again.String() != test.text {
				t.Errorf("its text reads as %q, %v", again, err)
			}
		})
	}
}

func TestAnApplicationsConstraintsWinOneByOne(t *testing.T) {
	t.Parallel()
	ofModel, err := model.ParseConstraints("arch=amd64 mem=4G cores=2")
	if err != nil {
		t.Fatal(err)
	}
	own, err := model.ParseConstraints("mem= cores=8")
	if err != nil {
		t.Fatal(err)
	}
	if got := own.Under(ofModel).String(); got != "arch=amd64 cores=8 mem=" {
		t.Errorf("together: %q", got)
	}
	if got := strings.Join(own.Under(ofModel).Beyond(4, 1024), "; "); got != "cores=8 (this host has 4)" {
		t.Errorf("beyond a host of 4 cores: %q", got)
	}
	if got := ofModel.Beyond(0, 1024); len(got) != 1 || got[0] != "mem=4096M (this host has 1024M)" {
		t.Errorf("beyond a host of which only the memory is known: %q", got)
	}
}

func FuzzConstraints(f *testing.F) {
	f.Add("arch=amd64 cores=4 mem=1.5G tags=a,^b")
	f.Add(`instance-type=a\ b mem= allocate-public-ip=false`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := model.ParseConstraints(text)
		if err != nil {
			return
		}
		again, err := model.ParseConstraints(c.String())
		if err != nil || again.String() != c.String() {
			t.Errorf("%q is written as %q, which reads as %q, %v", text, c, again, err)
		}
	})
}

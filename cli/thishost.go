package cli

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/unitd/unitd/render"
)

// thisHost is what the local machines are made of.
func thisHost() render.Host {
	h := render.Host{Arch: runtime.GOARCH, Cores: runtime.NumCPU()}
	if f, err := os.Open("/proc/meminfo"); err == nil { // on Linux
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			words := strings.Fields(lines.Text())
			if len(words) == 3 && words[0] == "MemTotal:" && words[2] == "kB" {
				kib, _ := strconv.ParseUint(words[1], 10, 64) // 0 where it isn't a number
				h.Mem = kib / 1024
			}
		}
	}
	return h
}

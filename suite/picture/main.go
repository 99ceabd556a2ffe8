package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ERROR", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: picture SESSION.txt PICTURE.svg")
	}
	session, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var screen []line
	for command := range strings.Lines(string(session)) {
		command = strings.TrimSpace(command)
		if len(screen) > 0 {
			screen = append(screen, nil)
		}
		screen = append(screen, line{{text: "$ ", style: style{colour: prompt}}, {text: command, style: style{bold: true}}})
		out, err := typed(command)
		if err != nil {
			return fmt.Errorf("%s: %v\n%s", command, err, out)
		}
		screen = append(screen, read(out)...)
	}
	var svg bytes.Buffer
	draw(&svg, screen)
	return os.WriteFile(args[1], svg.Bytes(), 0o644)
}

// typed is what a terminal gets of a command.
func typed(command string) ([]byte, error) {
	cmd := exec.Command("script", "--quiet", "--flush", "--return", "--command", "stty cols 110; "+command, os.DevNull)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color")
	out, err := cmd.CombinedOutput()
	return out, err
}

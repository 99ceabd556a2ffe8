package script

import (
	"io"
	"os/exec"
	"strings"
)

// aside is the stage of a command that is carried out while a line of the script
// waits, which may have run a program that hasn't ended yet. What is printed here isn't
// seen, and takes nothing from what the line prints.
type aside struct {
	world    *world
	script   stage
	out, err strings.Builder
}

// Stdout is part of stage.
func (a *aside) Stdout() io.Writer { return &a.out }

// Stderr is part of stage.
func (a *aside) Stderr() io.Writer { return &a.err }

// Exec is part of stage. The program has the variables of the world, and none that
// the script has set by "env".
func (a *aside) Exec(program string, args ...string) error {
	a.out.Reset()
	a.err.Reset()
	cmd := exec.CommandContext(a.world.ctx, program, args...)
	cmd.Dir = a.script.MkAbs(".")
	for _, name := range a.world.vars {
		cmd.Env = append(cmd.Env, name+"="+a.script.Getenv(name))
	}
	cmd.Stdout, cmd.Stderr = &a.out, &a.err
	return cmd.Run()
}

// ReadFile is part of stage.
func (a *aside) ReadFile(name string) string {
	switch name {
	case "stdout":
		return a.out.String()
	case "stderr":
		return a.err.String()
	}
	return a.script.ReadFile(name)
}

// MkAbs is part of stage.
func (a *aside) MkAbs(name string) string { return a.script.MkAbs(name) }

// Getenv is part of stage.
func (a *aside) Getenv(name string) string { return a.script.Getenv(name) }

// Setenv is part of stage.
func (a *aside) Setenv(name, value string) { a.script.Setenv(name, value) }

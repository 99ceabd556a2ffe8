package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// benchmark is what -bench matches in a package, and its -benchtime.
type benchmark struct{ pkg, name, time string }

// comparison compares a revision with the tree in dir.
type comparison struct {
	old        string
	dir        string // empty: the current directory
	temp       string // where temporary files are; empty: where they usually are
	benchmarks []benchmark
	programs   map[string]string
	count      int
	stat       []string // what is called with both results
	out        io.Writer
	progress   io.Writer
}

// side is one of both trees, with what is built of it and what it has measured.
type side struct {
	label, tree, built string
	results            *os.File
}

func (c comparison) run(ctx context.Context) (err error) {
	temp, err := os.MkdirTemp(c.temp, "unitd-compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if c.dir == "" {
		if c.dir, err = os.Getwd(); err != nil {
			return err
		}
	}
	tree := filepath.Join(temp, "tree")
	if err := c.git(ctx, "worktree", "add", "--quiet", "--detach", tree, c.old); err != nil {
		return fmt.Errorf("cannot check out %s: %w", c.old, err)
	}
	defer func() {
		if removed := c.git(context.WithoutCancel(ctx), "worktree", "remove", "--force", tree); err == nil {
			err = removed
		}
	}()
	sides := []*side{{label: "old", tree: tree}, {label: "new", tree: c.dir}}
	for _, s := range sides {
		s.built = filepath.Join(temp, s.label)
		if s.results, err = os.Create(filepath.Join(temp, s.label+".txt")); err != nil {
			return err
		}
		defer s.results.Close()
		if err := c.build(ctx, s); err != nil {
			return fmt.Errorf("cannot build the benchmarks of the %s tree: %w", s.label, err)
		}
	}
	if err := c.measure(ctx, sides); err != nil {
		return err
	}
	args := slices.Clone(c.stat)
	for _, s := range sides {
		args = append(args, s.label+"="+s.results.Name())
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.dir, c.out, os.Stderr
	return cmd.Run()
}

// measure runs all benchmarks of both sides by turns; which side is first changes
// with each turn.
func (c comparison) measure(ctx context.Context, sides []*side) error {
	turn := slices.Clone(sides)
	for i := range c.count {
		for _, b := range c.benchmarks {
			fmt.Fprintf(c.progress, "%d/%d %s %s\n", i+1, c.count, b.pkg, b.name)
			for _, s := range turn {
				if err := s.measure(ctx, b); err != nil {
					return fmt.Errorf("cannot measure %s of %s in the %s tree: %w", b.name, b.pkg, s.label, err)
				}
			}
		}
		slices.Reverse(turn)
	}
	return nil
}

// build builds the programs and the packages' tests.
func (c comparison) build(ctx context.Context, s *side) error {
	if err := os.Mkdir(s.built, 0o700); err != nil {
		return err
	}
	for name, pkg := range c.programs {
		cmd := s.command(ctx, s.tree, "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", filepath.Join(s.built, name), pkg)
		cmd.Env = append(cmd.Env, "CGO_ENABLED=0")
		if err := said(cmd); err != nil {
			return err
		}
	}
	for _, b := range c.benchmarks {
		if !s.has(b) {
			fmt.Fprintf(c.progress, "the %s tree has no %s\n", s.label, b.pkg)
			continue
		}
		if err := said(s.command(ctx, s.tree, "go", "test", "-vet=off", "-c", "-o", s.test(b), b.pkg)); err != nil {
			return err
		}
	}
	return nil
}

// measure runs a benchmark once, and keeps what it prints.
func (s *side) measure(ctx context.Context, b benchmark) error {
	if !s.has(b) {
		return nil
	}
	cmd := s.command(ctx, filepath.Join(s.tree, b.pkg), s.test(b), "-test.run", "^$", "-test.bench", b.name, "-test.benchtime", b.time)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	_, err = s.results.Write(out)
	return err
}

// has says whether the tree has the benchmark's package.
func (s *side) has(b benchmark) bool {
	_, err := os.Stat(filepath.Join(s.tree, b.pkg))
	return err == nil
}

// test is the program of a package's tests.
func (s *side) test(b benchmark) string {
	return filepath.Join(s.built, strings.NewReplacer("./", "", "/", "-").Replace(b.pkg)+".test")
}

// command is a command on this side: with its own programs, and without what make
// has said of garbage, which is for compilers.
func (s *side) command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOGC=") }), "UNITD_TEST_PROGRAMS="+s.built)
	return cmd
}

func (c comparison) git(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = c.dir
	return said(cmd)
}

// said runs a command whose output is only of interest if it fails.
func said(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args[:2], " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
